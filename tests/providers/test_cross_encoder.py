"""A cross-encoder in a file that the user names: it reads a question and a text together."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from pydantic import TypeAdapter, ValidationError

from synthorg_tui.providers.reranking.config import (
    NO_RERANKER,
    OnnxRerankerConfig,
    RerankingConfig,
)
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder, create_cross_encoder
from synthorg_tui.providers.reranking.errors import RerankingError
from tests.hostile import HOSTILE
from tests.providers.model_files import write_onnx, write_pair_onnx, write_tokenizer
from tests.tables import rows

QUESTION = "apple pear"
TEXTS = ("bolt nut", "pear bolt", "apple pear nut", "apple")
SHARED = [0, 1, 2, 1]
"""How many words of the question each text has."""


@pytest.fixture
def config(tmp_path: Path) -> OnnxRerankerConfig:
    write_tokenizer(tmp_path)
    write_pair_onnx(tmp_path / "model.onnx")
    return OnnxRerankerConfig(type="onnx", path=tmp_path / "model.onnx")


@pytest_asyncio.fixture
async def encoder(config: OnnxRerankerConfig) -> AsyncIterator[CrossEncoder]:
    made = CrossEncoder(config)
    yield made
    await made.close()


async def shared(
    config: OnnxRerankerConfig, question: str = QUESTION, texts: Sequence[str] = TEXTS
) -> list[float]:
    """How many words the model counts as shared: its scores without the ``[SEP]`` of each."""
    encoder = CrossEncoder(config)
    try:
        scores = await encoder.scores(question, texts)
        return [score - 1 for score in scores.tolist()]
    finally:
        await encoder.close()


class TestScores:
    async def test_each_text_is_read_with_the_question(self, config: OnnxRerankerConfig) -> None:
        assert await shared(config) == SHARED

    async def test_texts_of_all_lengths_keep_their_places(self, encoder: CrossEncoder) -> None:
        texts = ["bolt " * (n * 7 % 40) + "pear " * (n % 5) for n in range(50)]
        scores = await encoder.scores("pear", texts)
        assert scores.dtype == np.float32
        assert scores.tolist() == [1 + n % 5 for n in range(50)]

    async def test_no_text_needs_no_model(self, config: OnnxRerankerConfig) -> None:
        config.path.unlink()
        assert await shared(config, texts=[]) == []

    async def test_of_two_numbers_the_difference_counts(self, config: OnnxRerankerConfig) -> None:
        write_pair_onnx(config.path, row=(-1.0, 2.0))
        encoder = CrossEncoder(config)
        assert (await encoder.scores(QUESTION, TEXTS)).tolist() == [3 * (n + 1) for n in SHARED]
        await encoder.close()

    async def test_hostile_texts_are_only_scored(self, encoder: CrossEncoder) -> None:
        for question in ("\ud800 apple", *HOSTILE[:5]):
            scores = await encoder.scores(question, ["\udfff", "", *HOSTILE])
            assert np.isfinite(scores).all()

    async def test_a_question_is_answered_between_the_batches_of_another(
        self, encoder: CrossEncoder
    ) -> None:
        long = asyncio.create_task(encoder.scores("pear", ["bolt " * 400] * 200))
        await asyncio.sleep(0)
        await encoder.scores("pear", ["pear"])
        assert not long.done()
        await long


class TestLength:
    async def test_of_a_long_text_the_end_is_left_out(self, config: OnnxRerankerConfig) -> None:
        short = config.model_copy(update={"max_tokens": 32})
        texts = ["bolt " * 60 + "apple", "apple " + "bolt " * 60]
        assert await shared(short, "apple", texts) == [0, 1]

    async def test_a_question_is_kept_whole(self, config: OnnxRerankerConfig) -> None:
        short = config.model_copy(update={"max_tokens": 32})
        question = "bolt " * 20 + "apple"
        assert (await shared(short, question, ["apple " + "nut " * 60]))[0] == 1

    async def test_a_question_leaves_a_text_a_quarter(self, config: OnnxRerankerConfig) -> None:
        short = config.model_copy(update={"max_tokens": 32})
        question = "apple " * 24 + "pear " * 3_000
        assert await shared(short, question, ["apple", "pear"]) == [24, 0]


class TestFiles:
    async def test_it_loads_with_the_first_question_and_rests(self, encoder: CrossEncoder) -> None:
        assert not encoder.is_loaded
        await encoder.scores(QUESTION, TEXTS)
        assert encoder.is_loaded
        await encoder.unload()
        assert not encoder.is_loaded
        assert (await encoder.scores(QUESTION, TEXTS)).tolist() == [n + 1 for n in SHARED]

    async def test_it_doesnt_rest_while_it_reads(self, encoder: CrossEncoder) -> None:
        reading = asyncio.create_task(encoder.scores(QUESTION, TEXTS))
        await asyncio.sleep(0)
        await encoder.unload()
        await reading
        assert encoder.is_loaded

    async def test_closed_it_says_so(self, encoder: CrossEncoder) -> None:
        await encoder.close()
        await encoder.close()
        await encoder.unload()
        with pytest.raises(RerankingError, match="re-ranker is closed"):
            await encoder.scores(QUESTION, TEXTS)

    async def test_a_file_that_is_not_there_is_told(self, config: OnnxRerankerConfig) -> None:
        config.path.unlink()
        with pytest.raises(RerankingError, match="can't be read: No such file") as caught:
            await shared(config)
        assert caught.value.remedy == "Check providers.reranking.path"

    async def test_what_is_no_model_is_told(self, config: OnnxRerankerConfig) -> None:
        config.path.write_bytes(b"no model")
        with pytest.raises(RerankingError, match="re-ranking: ONNX Runtime can't load it"):
            await shared(config)

    async def test_the_tokenizer_lies_beside_it_or_one_folder_up(
        self, config: OnnxRerankerConfig, tmp_path: Path
    ) -> None:
        (tmp_path / "onnx").mkdir()
        moved = config.path.rename(tmp_path / "onnx" / "model.onnx")
        config = config.model_copy(update={"path": moved})
        assert await shared(config) == SHARED
        (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
        with pytest.raises(RerankingError, match="is no tokenizer"):
            await shared(config)
        (tmp_path / "tokenizer.json").unlink()
        with pytest.raises(RerankingError, match=r"no tokenizer\.json beside it"):
            await shared(config)

    async def test_an_input_that_no_text_has_is_told(self, config: OnnxRerankerConfig) -> None:
        write_pair_onnx(config.path, wants="pixel_values")
        with pytest.raises(RerankingError, match="it wants pixel_values"):
            await shared(config)

    async def test_more_numbers_than_two_are_refused(self, config: OnnxRerankerConfig) -> None:
        write_pair_onnx(config.path, row=(1.0, 1.0, 1.0))
        with pytest.raises(RerankingError, match="for 4 pairs it gives 4 x 3 numbers") as caught:
            await shared(config)
        assert "one score, or two" in (caught.value.remedy or "")

    async def test_an_embedder_is_no_cross_encoder(self, config: OnnxRerankerConfig) -> None:
        write_onnx(config.path)
        with pytest.raises(RerankingError, match="instead of one or two for each"):
            await shared(config)

    async def test_scores_that_are_no_numbers_are_refused(self, config: OnnxRerankerConfig) -> None:
        write_pair_onnx(config.path, row=(float("nan"),))
        with pytest.raises(RerankingError, match="no numbers"):
            await shared(config)

    def test_the_fingerprint_tells_models_apart(self, config: OnnxRerankerConfig) -> None:
        first = CrossEncoder(config).fingerprint
        assert first == CrossEncoder(config).fingerprint
        shorter = CrossEncoder(config.model_copy(update={"max_tokens": 64})).fingerprint
        write_pair_onnx(config.path, row=(1.0, 2.0))
        changed = CrossEncoder(config).fingerprint
        config.path.unlink()
        assert len({first, shorter, changed, CrossEncoder(config).fingerprint}) == 4


class TestConfig:
    parse = TypeAdapter[RerankingConfig](RerankingConfig).validate_python

    def test_without_a_type_there_is_none(self) -> None:
        assert self.parse({}) == NO_RERANKER
        assert create_cross_encoder(NO_RERANKER) is None

    @rows(
        ("values", "told"),
        [
            ({"type": "magic"}, "'none', 'onnx'"),
            ({"type": "onnx"}, "path"),
            ({"type": "onnx", "path": "m.onnx", "max_tokens": 31}, "greater than or equal to 32"),
            ({"type": "onnx", "path": "m.onnx", "threads": 0}, "greater than or equal to 1"),
            ({"type": "none", "path": "m.onnx"}, "Extra inputs"),
        ],
    )
    def test_what_is_wrong_is_named(self, values: dict[str, object], told: str) -> None:
        with pytest.raises(ValidationError, match=told):
            self.parse(values)
