"""An embedding model in an ONNX file that the user names, with its tokenizer beside it."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.providers.embedding.config import OnnxConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import identity_of, normalise, opened
from synthorg_tui.providers.embedding.onnx import OnnxEmbedder, mean_of
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_TOKEN_RANK: Final = 3
"""Dimensions of an output that has a vector for each token of each text."""
_TEXT_RANK: Final = 2
"""Dimensions of an output that has one vector for each text."""


class OnnxFileEmbedder(OnnxEmbedder):
    """Embedder for an ONNX model by its path.

    The model takes token ids and, as far as it has these inputs, a mask, types and positions. How
    long its vectors are is found out by running it once, which loads it.
    """

    def __init__(self, config: OnnxConfig) -> None:
        super().__init__(max_tokens=config.max_tokens, threads=config.threads)
        self._config = config

    @cached_property
    def fingerprint(self) -> str:
        path, config = self._config.path, self._config
        identity = "-".join(map(identity_of, (path, *_weights_beside(path))))
        words = identity_of(tokenizer_beside(path))[:8]
        return f"onnx:{path.name}:{identity}:{words}:{config.pooling}:{config.max_tokens}"

    @cached_property
    def dims(self) -> int:
        import numpy as np

        _, session = self._load()
        one = np.ones((1, 1), dtype=np.int64)
        feeds = {"input_ids": one, "attention_mask": one, "token_type_ids": np.zeros_like(one)}
        return int(self._compute(session, feeds).shape[1])

    def _model(self) -> Path:
        with opened(self._config.path):
            return self._config.path

    def _load_tokenizer(self) -> "Tokenizer":
        return load_tokenizer(self._config.path, self._max_tokens)

    def _load_session(self) -> "InferenceSession":
        path = self._model()
        try:
            return super()._load_session()
        except Exception as error:  # the runtime has a class of its own for each failure
            raise _unusable(path, f"ONNX Runtime can't load it: {error}") from error

    def _compute(
        self, session: "InferenceSession", feeds: "dict[str, NDArray[np.int64]]"
    ) -> Vectors:
        import numpy as np

        mask = feeds["attention_mask"]
        known = feeds | {"position_ids": np.arange(mask.shape[1])[None].repeat(len(mask), axis=0)}
        names = [each.name for each in session.get_inputs()]
        if unknown := sorted(set(names) - set(known)):
            raise self._unfit(f"it wants {', '.join(unknown)}, which no text has")
        outputs = session.run(None, {name: known[name] for name in names})
        return self._pooled(outputs, mask)

    def _pooled(self, outputs: "list[Vectors]", mask: "NDArray[np.int64]") -> Vectors:
        import numpy as np

        pooling = self._config.pooling
        rank = _TEXT_RANK if pooling == "model" else _TOKEN_RANK
        fitting = [output for output in outputs if getattr(output, "ndim", 0) == rank]
        if not fitting:
            what = "text" if pooling == "model" else "token"
            raise self._unfit(f"pooling {pooling} needs a vector of each {what}, it gives none")
        hidden = fitting[0].astype(np.float32)
        if pooling == "mean":
            return mean_of(hidden, mask)
        if pooling == "last":
            return normalise(hidden[np.arange(len(mask)), mask.sum(axis=1) - 1])
        return normalise(hidden if pooling == "model" else hidden[:, 0])

    def _unfit(self, reason: str) -> EmbeddingError:
        return _unusable(self._config.path, reason)


def tokenizer_beside(path: Path) -> Path:
    """Return the ``tokenizer.json`` of a model's file: beside it, or one folder up.

    Raises ``EmbeddingError`` when there is none.
    """
    for folder in (path.parent, path.parent.parent):
        if (found := folder / "tokenizer.json").is_file():
            return found
    raise EmbeddingError(
        f"The embedding model {path} has no tokenizer.json beside it",
        remedy="Put the tokenizer.json of the model into its folder",
    )


def load_tokenizer(path: Path, max_tokens: int) -> "Tokenizer":
    """Return the tokenizer of a model's file; texts are truncated to ``max_tokens``.

    Raises ``EmbeddingError``.
    """
    from tokenizers import Tokenizer

    file = tokenizer_beside(path)
    with opened(file) as stream:
        content = stream.read()
    try:
        tokenizer = Tokenizer.from_str(content.decode())
    except Exception as error:  # the library raises plain exceptions
        raise EmbeddingError(
            f"{file} is no tokenizer: {error}", remedy="Put the model's own tokenizer.json there"
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def _weights_beside(path: Path) -> list[Path]:
    """The files that large models keep their weights in."""
    names = (f"{path.name}_data", f"{path.name}.data")
    return [file for name in names if (file := path.with_name(name)).is_file()]


def _unusable(path: Path, reason: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} can't be used for embedding: {reason}",
        remedy="Check providers.embedding.path and providers.embedding.pooling",
    )
