"""Cross-encoders: models that read a question and a text together and say how well they fit.

Imported when reordering is first asked for; the model and the library that runs it load with the
first question.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.providers.local import Batch, LocalModel, ModelRole, load_tokenizer
from synthorg_tui.providers.onnx import (
    OnnxModel,
    batches_by_length,
    feeds_of,
    inputs_of,
    open_file,
)
from synthorg_tui.providers.reranking.config import OnnxRerankerConfig, RerankingConfig
from synthorg_tui.providers.reranking.errors import RerankingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

RERANKING: Final = ModelRole(
    name="re-ranker",
    purpose="re-ranking",
    setting="providers.reranking",
    remedy="Check providers.reranking.path; it must be a cross-encoder that gives one score, or "
    "two, for a question and a text",
    error=RerankingError,
)

_QUESTION_SHARE: Final = 3 / 4
"""The share of all tokens that a question may take, so that something of a text is read."""
_CHARS_PER_TOKEN: Final = 32
"""More than any usual token has: what is beyond isn't tokenised only to be cut off."""


class CrossEncoder(LocalModel):
    """A cross-encoder in an ONNX file; each failure is a ``RerankingError``."""

    def __init__(self, config: OnnxRerankerConfig) -> None:
        super().__init__(RERANKING)
        self._config = config
        self._files = OnnxModel(
            partial(open_file, config.path, config.threads, RERANKING),
            partial(load_tokenizer, config.path, RERANKING),
        )

    @property
    def fingerprint(self) -> str:
        """What tells its orders from those of another model; changes with the file."""
        config, size, changed = self._config, 0, 0
        try:
            stat = config.path.stat()
            size, changed = stat.st_size, stat.st_mtime_ns
        except OSError:  # scoring says what is wrong
            pass
        return f"onnx:{config.path}:{size}:{changed}:{config.max_tokens}"

    @property
    def is_loaded(self) -> bool:
        return self._files.is_loaded

    async def scores(self, question: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return how well each text fits the question; greater is better, the scale is its own.

        A long call waits after each batch, so that another question is answered meanwhile.
        """
        plan = partial(self._plan, question, texts)
        with self._at_work():
            parts = [part async for part in self._parts(plan)] if texts else []
        import numpy as np

        scores = np.empty(len(texts), dtype=np.float32)
        for positions, part in parts:
            scores[np.asarray(positions)] = part
        return scores

    def _unload(self) -> None:
        self._files.unload()

    def _plan(self, question: str, texts: Sequence[str]) -> Sequence[Batch]:
        tokenizer, session = self._files.load()
        asked = self._fitting(tokenizer, question.encode("utf-8", "replace").decode())
        most = self._config.max_tokens
        tokenizer.enable_truncation(max_length=most, strategy="only_second")
        encodings = tokenizer.encode_batch(
            [
                (asked, text[: most * _CHARS_PER_TOKEN].encode("utf-8", "replace").decode())
                for text in texts
            ]
        )
        return [
            (positions, partial(self._batch, session, [encodings[i] for i in positions]))
            for positions in batches_by_length([len(e.ids) for e in encodings])
        ]

    def _fitting(self, tokenizer: "Tokenizer", question: str) -> str:
        """The question, cut where it would leave too little room for a text."""
        most = self._config.max_tokens
        room = int(most * _QUESTION_SHARE)
        tokenizer.no_truncation()
        question = question[: most * _CHARS_PER_TOKEN]
        tokens = tokenizer.encode(question, add_special_tokens=False)
        return question if len(tokens.ids) <= room else question[: tokens.offsets[room - 1][1]]

    def _batch(
        self, session: "InferenceSession", encodings: "Sequence[Encoding]"
    ) -> "NDArray[np.float32]":
        feeds = feeds_of(encodings, pairs=True)
        wanted = inputs_of(session, feeds, self._config.path, RERANKING)
        names = [each.name for each in session.get_outputs()]
        place = names.index("logits") if "logits" in names else 0
        return self._scored(session.run(None, wanted)[place], len(encodings))

    def _scored(self, logits: Any, count: int) -> "NDArray[np.float32]":
        """A score for each pair: the only one, or that of fitting less that of not fitting."""
        import numpy as np

        shape = tuple(getattr(logits, "shape", ()))
        if shape not in ((count, 1), (count, 2)):
            told = " x ".join(map(str, shape)) or "nothing"
            reason = f"for {count} pairs it gives {told} numbers instead of one or two for each"
            raise RERANKING.unusable(self._config.path, reason)
        given: NDArray[np.float32] = logits.astype(np.float32)
        scores = given[:, 0] if shape[1] == 1 else given[:, 1] - given[:, 0]
        if not np.isfinite(scores).all():
            raise RERANKING.unusable(self._config.path, "it gives scores that are no numbers")
        return scores


def create_cross_encoder(config: RerankingConfig) -> CrossEncoder | None:
    """Return the cross-encoder that the settings describe, not loaded yet; ``None`` for none."""
    return CrossEncoder(config) if isinstance(config, OnnxRerankerConfig) else None
