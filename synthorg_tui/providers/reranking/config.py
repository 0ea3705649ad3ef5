"""The settings that choose what puts found memories in order, told apart by ``type``."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from synthorg_tui.core.types import FrozenModel, HomePath
from synthorg_tui.providers.embedding.config import Threads


class NoRerankerConfig(FrozenModel):
    """No re-ranker: where reordering is switched on, the language model does it."""

    type: Literal["none"] = "none"


NO_RERANKER: Final = NoRerankerConfig.model_construct()  # validators are built when needed


class OnnxRerankerConfig(FrozenModel):
    """A cross-encoder in an ONNX file, run by ONNX Runtime.

    Its ``tokenizer.json`` lies beside it or one folder up. A question and a memory together have at
    most ``max_tokens``: the memory is truncated, and the question only where it would leave the
    memory less than a quarter.
    """

    type: Literal["onnx"]
    path: HomePath
    max_tokens: int = Field(default=512, ge=32, le=32768)
    threads: Threads | None = None


def _type_of(value: Any) -> str:
    """The ``type`` of raw settings or of a model; none when it is missing."""
    if isinstance(value, dict):
        return str(value.get("type", "none"))
    return str(getattr(value, "type", "none"))


RerankingConfig: TypeAlias = Annotated[
    Annotated[NoRerankerConfig, Tag("none")] | Annotated[OnnxRerankerConfig, Tag("onnx")],
    Discriminator(_type_of),
]
"""One of the configurations of re-ranking, told apart by ``type`` (default ``none``)."""
