"""Makes the questions of a run out of what was asked, and of files that a person names.

Only memories that are live, embedded and given to the asking agent count as answers.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.evaluation.questions import (
    EvalQuestion,
    QuestionSource,
    RecallTask,
    distinct,
)
from synthorg_tui.memory.fine_tune.errors import FineTuneError, TooFewPairsError
from synthorg_tui.memory.fine_tune.mining import MIN_SESSIONS, MemoryPool, splits
from synthorg_tui.memory.fine_tune.models import MIN_JUDGES, MIN_PAIRS
from synthorg_tui.memory.fine_tune.store import TrainingQuestion
from synthorg_tui.memory.retrieval.relevance import meaning_of
from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

MAX_FILES: Final = 100
MAX_FILE: Final = 32 * 1024**2
MAX_QUESTIONS: Final = 20_000
MAX_TEXT: Final = 4_000
"""Most characters of a question; more is cut off, as the embedder does."""


def questions_in(folder: Path) -> tuple[EvalQuestion, ...]:
    """Return the questions in the folder's ``*.jsonl``; a line that has none is passed over.

    Each line is an object with ``question``, ``relevant`` (ids of memories) and ``agent``. Secrets
    in questions are redacted. Raises ``FineTuneError`` for a file that is too large or unreadable.
    """
    found: list[EvalQuestion] = []
    for path in sorted(folder.glob("*.jsonl"))[:MAX_FILES]:
        try:
            if path.stat().st_size > MAX_FILE:
                raise FineTuneError(f"{path.name} is larger than {MAX_FILE // 1024**2} MB")
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise FineTuneError(f"{path.name} can't be read: {error.strerror}") from error
        found.extend(_questions(lines, path.stem))
    return tuple(found[:MAX_QUESTIONS])


def _questions(lines: Sequence[str], name: str) -> Iterator[EvalQuestion]:
    for line in lines:
        try:
            said: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(said, Mapping):
            continue
        text, ids, agent = said.get("question"), said.get("relevant"), said.get("agent")
        if not (isinstance(text, str) and isinstance(ids, list) and isinstance(agent, str)):
            continue
        known = frozenset(key for key in ids if isinstance(key, str))
        if text.strip() and agent.strip() and known:
            text = redact_text(text[:MAX_TEXT], RedactionTally())
            session = str(said.get("session") or name)
            yield EvalQuestion(
                text, agent, known, RecallTask.EPISODIC, QuestionSource.FILE, session
            )


async def question_vectors(embedder: Embedder, texts: Sequence[str]) -> list[Vectors]:
    """Return the vectors that the base gives questions, with what it puts before them.

    What is deployed on top of it isn't asked: training begins at the base.
    """
    base = embedder.base if isinstance(embedder, AdaptedEmbedder) else embedder
    return [await base.embed_query(meaning_of(text)) for text in texts]


def usable(
    asked: Sequence[EvalQuestion], pools: Mapping[str, MemoryPool]
) -> list[tuple[EvalQuestion, tuple[str, ...]]]:
    """Return each question with those of its answers that its agent can be given, in order.

    Questions that are the same, or that nothing answers any more, are left out.
    """
    found = []
    for question in distinct(asked):
        pool = pools[question.agent_id]
        known = tuple(sorted(pool.ids[row] for row in pool.rows(question.relevant)))
        if known and question.text.strip():
            found.append((question, known))
    found.sort(key=lambda each: (each[0].agent_id, each[0].text))
    return found[:MAX_QUESTIONS]


def training_questions(
    asked: Sequence[EvalQuestion],
    pools: Mapping[str, MemoryPool],
    *,
    validation: float,
    seed: int,
    write_about: int = 0,
) -> tuple[TrainingQuestion, ...]:
    """Return the questions of a run, each with what it is for.

    Where a model is to write more (``write_about``), most of them judge what comes of it. Raises
    ``TooFewPairsError``, also when they are about too few sessions to hold some out.
    """
    pairs = usable(asked, pools)
    if problem := few_pairs(len(pairs), write_about):
        raise TooFewPairsError(problem, remedy=_REMEDY)
    found = [(pools[question.agent_id], known[:1]) for question, known in pairs]
    sessions = [pool.sessions[pool.rows(first)[0]] for pool, first in found]  # of first answers
    if (count := len(set(sessions))) < MIN_SESSIONS:
        raise TooFewPairsError(
            f"all questions are about {count} sessions; it takes {MIN_SESSIONS}, so that some can "
            "be held out",
            remedy=_REMEDY,
        )
    split = splits(sessions, validation=validation, seed=seed, mostly_judge=write_about > 0)
    return tuple(
        TrainingQuestion(
            number, question.text[:MAX_TEXT], question.agent_id, known, session, split[session]
        )
        for number, ((question, known), session) in enumerate(zip(pairs, sessions, strict=True))
    )


_REMEDY: Final = (
    "Saved scenarios, searches after which a memory was opened, failures with their remedy and "
    "approvals count; name a folder with questions by --source; or have your language model write "
    "some by --write-about."
)


def few_pairs(count: int, write_about: int = 0) -> str:
    """Return in words why so many questions aren't enough; empty when they are.

    ``write_about`` is how many more a model would write at most.
    """
    if write_about and count < MIN_JUDGES:
        return (
            f"somebody asked {count} questions with known answers, and it takes {MIN_JUDGES} to "
            "judge what is learnt from written ones"
        )
    if count + write_about >= MIN_PAIRS:
        return ""
    written = f" and at most {write_about} would be written" if write_about else ""
    return (
        f"there are {count} questions with known answers{written}, and it takes {MIN_PAIRS}: with "
        "fewer, what is gained can't be told from chance"
    )
