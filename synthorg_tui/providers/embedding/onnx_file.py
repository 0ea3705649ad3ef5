"""An embedding model in an ONNX file that the user names, with its tokenizer beside it."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.providers.embedding.config import OnnxConfig
from synthorg_tui.providers.embedding.local import EMBEDDING, normalise
from synthorg_tui.providers.embedding.onnx import OnnxEmbedder, mean_of
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import identity_of, load_tokenizer, tokenizer_beside
from synthorg_tui.providers.onnx import inputs_of, open_file

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
        identity = "-".join(identity_of(file, EMBEDDING) for file in (path, *_weights_beside(path)))
        words = identity_of(tokenizer_beside(path, EMBEDDING), EMBEDDING)[:8]
        return f"onnx:{path.name}:{identity}:{words}:{config.pooling}:{config.max_tokens}"

    @cached_property
    def dims(self) -> int:
        import numpy as np

        _, session = self._files.load()
        one = np.ones((1, 1), dtype=np.int64)
        feeds = {"input_ids": one, "attention_mask": one, "token_type_ids": np.zeros_like(one)}
        return int(self._compute(session, feeds).shape[1])

    def _load_session(self) -> "InferenceSession":
        return open_file(self._config.path, self._threads, EMBEDDING)

    def _load_tokenizer(self) -> "Tokenizer":
        tokenizer = load_tokenizer(self._config.path, EMBEDDING)
        tokenizer.enable_truncation(max_length=self._max_tokens)
        return tokenizer

    def _compute(
        self, session: "InferenceSession", feeds: "dict[str, NDArray[np.int64]]"
    ) -> Vectors:
        wanted = inputs_of(session, feeds, self._config.path, EMBEDDING)
        return self._pooled(session.run(None, wanted), feeds["attention_mask"])

    def _pooled(self, outputs: "list[Vectors]", mask: "NDArray[np.int64]") -> Vectors:
        import numpy as np

        pooling = self._config.pooling
        rank = _TEXT_RANK if pooling == "model" else _TOKEN_RANK
        fitting = [output for output in outputs if getattr(output, "ndim", 0) == rank]
        if not fitting:
            what = "text" if pooling == "model" else "token"
            raise EMBEDDING.unusable(
                self._config.path, f"pooling {pooling} needs a vector of each {what}, it gives none"
            )
        hidden = fitting[0].astype(np.float32)
        if pooling == "mean":
            return mean_of(hidden, mask)
        if pooling == "last":
            return normalise(hidden[np.arange(len(mask)), mask.sum(axis=1) - 1])
        return normalise(hidden if pooling == "model" else hidden[:, 0])


def _weights_beside(path: Path) -> list[Path]:
    """The files that large models keep their weights in."""
    names = (f"{path.name}_data", f"{path.name}.data")
    return [file for name in names if (file := path.with_name(name)).is_file()]
