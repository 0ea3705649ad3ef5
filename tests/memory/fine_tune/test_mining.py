"""What is held out, and what is surely no answer."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource, RecallTask
from synthorg_tui.memory.fine_tune.errors import TooFewPairsError
from synthorg_tui.memory.fine_tune.generating import (
    question_vectors,
    questions_in,
    training_questions,
)
from synthorg_tui.memory.fine_tune.mining import MemoryPool, negatives_of, splits, training_groups
from synthorg_tui.memory.fine_tune.models import MIN_PAIRS
from synthorg_tui.memory.fine_tune.store import PairSplit, TrainingQuestion
from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder, QueryAdapter
from synthorg_tui.providers.embedding.factory import Prefixed
from tests.memory.store.hash_embedder import HashEmbedder


def pool(*rows: tuple[str, str, float]) -> MemoryPool:
    """Memories as id, session and similarity to the question ``(1, 0)``."""
    vectors = [(near, (1 - near**2) ** 0.5) for _, _, near in rows]
    ids, sessions = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    return MemoryPool(ids, sessions, np.array(vectors, np.float32))


ASKED = np.array([1, 0], np.float32)
QUESTION = TrainingQuestion(
    0, "which", "ada", ("answer",), "s1", PairSplit.TRAINING, ASKED.tobytes()
)


def test_negatives_are_of_other_sessions_and_not_nearly_as_similar_as_the_answer() -> None:
    memories = pool(
        ("answer", "s1", 0.8),
        ("beside", "s1", 0.5),
        ("better", "s2", 0.9),
        ("close", "s2", 0.761),
        ("far", "s2", 0.759),
        ("farther", "s3", 0.2),
    )
    assert negatives_of(QUESTION, ASKED, memories, (), 1) == ("far",)
    worded = ("answer", "beside", "close", "farther")
    assert negatives_of(QUESTION, ASKED, memories, worded, 1) == ("far", "farther")
    assert negatives_of(QUESTION, ASKED, memories, (), 9) == ("far", "farther")


def test_training_takes_answers_and_mined_negatives_of_the_agent() -> None:
    memories = pool(
        ("answer", "s1", 0.8), ("other", "s2", 0.3), ("near", "s3", 0.79), ("unused", "s4", 0.1)
    )
    second = TrainingQuestion(
        1, "what", "ada", ("near",), "s3", PairSplit.TRAINING, ASKED.tobytes(), ("other",)
    )
    (group,) = training_groups([QUESTION, second], {"ada": memories})
    assert len(group.texts) == 3
    assert group.targets.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert group.allowed.tolist() == [[True, True, False], [False, True, True]]


def test_whole_sessions_are_held_out_and_the_seed_says_which() -> None:
    sessions = [f"s{number % 20}" for number in range(400)]
    found = splits(sessions, validation=0.1, seed=0)
    counts = Counter(found[session] for session in sessions)
    assert counts == {PairSplit.HELD_OUT: 80, PairSplit.VALIDATION: 40, PairSplit.TRAINING: 280}
    assert splits(sessions, validation=0.1, seed=0) == found
    assert splits(sessions, validation=0.1, seed=1) != found


def asked(count: int) -> list[EvalQuestion]:
    return [
        EvalQuestion(
            f"q{number}", "ada", frozenset({f"m{number}"}), RecallTask.EPISODIC, QuestionSource.FILE
        )
        for number in range(count)
    ]


def memories_in(sessions: int) -> dict[str, MemoryPool]:
    rows = [(f"m{number}", f"s{number % sessions}", 0.5) for number in range(MIN_PAIRS)]
    return {"ada": pool(*rows)}


def test_it_takes_enough_questions_about_enough_sessions() -> None:
    enough = training_questions(asked(MIN_PAIRS), memories_in(5), validation=0.1, seed=0)
    assert len(enough) == MIN_PAIRS
    assert {each.split for each in enough} == set(PairSplit)
    with pytest.raises(TooFewPairsError, match=f"{MIN_PAIRS - 1} questions"):
        training_questions(asked(MIN_PAIRS - 1), memories_in(5), validation=0.1, seed=0)
    with pytest.raises(TooFewPairsError, match="about 4 sessions; it takes 5"):
        training_questions(asked(MIN_PAIRS), memories_in(4), validation=0.1, seed=0)
    with pytest.raises(TooFewPairsError):  # what nothing answers any more doesn't count
        training_questions(
            asked(MIN_PAIRS), {"ada": pool(("m1", "s1", 0.5))}, validation=0.1, seed=0
        )


def test_files_of_questions_are_read_line_by_line_and_redacted(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    lines = [
        '{"question": "what broke", "relevant": ["m1", 3], "agent": "ada"}',
        f'{{"question": "token {key}", "relevant": ["m1"], "agent": "ada", "session": "s"}}',
        "no json", "[1]", '{"question": "", "relevant": ["m1"], "agent": "ada"}',
        '{"question": "none", "relevant": [], "agent": "ada"}',
    ]  # fmt: skip
    (tmp_path / "some.jsonl").write_text("\n".join(lines), encoding="utf-8")
    first, second = questions_in(tmp_path)
    assert (first.text, first.relevant, first.session) == ("what broke", frozenset({"m1"}), "some")
    assert key not in second.text
    assert second.session == "s"


async def test_questions_are_embedded_as_the_base_embeds_questions() -> None:
    """With the prefix of queries, and without what is deployed on top of the base."""
    base = Prefixed(HashEmbedder(dims=8), query="query: ", passage="passage: ")
    adapted = AdaptedEmbedder(base)
    adapted.use(QueryAdapter(base.fingerprint, np.fliplr(np.eye(8, dtype=np.float32))))
    (found,) = await question_vectors(adapted, ["which apple"])
    assert found.tobytes() == (await base.embed_query("which apple")).tobytes()
    assert found.tobytes() != (await adapted.embed_query("which apple")).tobytes()
    assert found.tobytes() != (await base.embed(["which apple"]))[0].tobytes()
