"""The settings that choose an embedding model, told apart by ``type``."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag

from synthorg_tui.core.types import FrozenModel, HomePath, NotBlankStr


def require_http(url: str) -> str:
    """Return ``url`` without trailing slashes; raises ``ValueError`` unless it is http or https."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return url.rstrip("/")


Threads = Annotated[int, Field(ge=1, le=64)]

MODEL_ID = "minilm-l6-v2-int8"
"""The bundled model, in the fingerprints of its vectors. It knows English."""


class MiniLMConfig(FrozenModel):
    """The bundled MiniLM-L6-v2 (int8, 384 dimensions), run by ONNX.

    Texts are truncated to ``max_tokens``: the model was trained with 256, its limit is 512.
    ``threads`` defaults to the number of processor cores but one, at most 3.
    """

    type: Literal["minilm"] = "minilm"
    max_tokens: int = Field(default=256, ge=16, le=512)
    threads: Threads | None = None


Prefix = Annotated[str, Field(max_length=500)]


class _WithPrefixes(FrozenModel):
    """What is put before queries and before texts, for models that were trained so."""

    query_prefix: Prefix = ""
    passage_prefix: Prefix = ""


class GgufConfig(_WithPrefixes):
    """An embedding model in a GGUF file, run by llama.cpp.

    ``pooling`` is how the vectors of tokens are combined into one for the text; the model's card
    names the right method, and the prefixes of queries and passages if there are any. Texts are
    truncated to ``max_tokens``.
    """

    type: Literal["gguf"]
    path: HomePath
    pooling: Literal["mean", "cls", "last"] = "mean"
    max_tokens: int = Field(default=512, ge=16, le=32768)
    threads: Threads | None = None


class OnnxConfig(_WithPrefixes):
    """An embedding model in an ONNX file, run by ONNX Runtime.

    Its ``tokenizer.json`` lies beside it or one folder up. ``pooling`` and the prefixes are as with
    ``GgufConfig``; ``model`` is for a model whose output is the vector of the text already.
    """

    type: Literal["onnx"]
    path: HomePath
    pooling: Literal["mean", "cls", "last", "model"] = "mean"
    max_tokens: int = Field(default=512, ge=16, le=32768)
    threads: Threads | None = None


class StaticConfig(FrozenModel):
    """A table of token vectors, of which a text's vector is the mean.

    ``path`` is a ``.safetensors`` file with its ``tokenizer.json`` beside it, or the folder of
    both. Texts are truncated to ``max_tokens``.
    """

    type: Literal["static"]
    path: HomePath
    max_tokens: int = Field(default=512, ge=16, le=32768)


class FastembedConfig(FrozenModel):
    """A model of the package ``fastembed``, by the name that it has there.

    ``path`` is the folder of its files, else they are looked for in ``cache`` (without it where
    fastembed keeps them). Nothing is fetched unless ``download``. Queries and texts get the
    prefixes that fastembed knows of.
    """

    type: Literal["fastembed"]
    model: NotBlankStr
    path: HomePath | None = None
    cache: HomePath | None = None
    download: bool = False
    threads: Threads | None = None


class OpenAIConfig(_WithPrefixes):
    """A server with an OpenAI-compatible ``/embeddings`` endpoint.

    ``base_url`` ends before ``/embeddings`` (``http://localhost:11434/v1``). ``api_key_env`` names
    the environment variable that holds the API key; keys are never written to settings. ``dims`` is
    the length of the vectors that the server returns. A request that times out or is refused
    because of load is retried up to ``max_retries`` times.
    """

    type: Literal["openai"]
    base_url: Annotated[NotBlankStr, AfterValidator(require_http)]
    model: NotBlankStr
    dims: int = Field(ge=1, le=16384)
    api_key_env: NotBlankStr | None = None
    timeout_seconds: float = Field(default=30.0, gt=0.0, le=600.0)
    max_retries: int = Field(default=2, ge=0, le=10)
    batch_size: int = Field(default=64, ge=1, le=2048)


def _type_of(value: Any) -> str:
    """The ``type`` of raw settings or of a model; the bundled model when it is missing."""
    if isinstance(value, dict):
        return str(value.get("type", "minilm"))
    return str(getattr(value, "type", "minilm"))


EmbeddingConfig: TypeAlias = Annotated[
    Annotated[MiniLMConfig, Tag("minilm")]
    | Annotated[GgufConfig, Tag("gguf")]
    | Annotated[OnnxConfig, Tag("onnx")]
    | Annotated[StaticConfig, Tag("static")]
    | Annotated[FastembedConfig, Tag("fastembed")]
    | Annotated[OpenAIConfig, Tag("openai")],
    Discriminator(_type_of),
]
"""One of the embedding configurations, told apart by ``type`` (default ``minilm``)."""
