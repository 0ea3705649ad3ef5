"""Which questions are for what, and which memories are surely no answer to a question.

A memory of the session that the answer is from may well answer, too, and so may one that is nearly
as similar as the answer: neither is taken for wrong. Everything here is decided by ids and a seed,
so that a run that is resumed decides the same.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.memory.fine_tune.store import PairSplit, TrainingQuestion
from synthorg_tui.memory.fine_tune.training import Flags, Numbers, TrainingGroup

CLOSE: Final = 0.95
"""Share of the answer's similarity from which on another memory isn't taken for wrong."""
MIN_HELD_OUT: Final = 0.2
JUDGING: Final = 0.25, 0.5
"""Shares of the questions that validate and that are held out, where others are there to learn
from."""
MIN_SESSIONS: Final = 5
"""Sessions that questions are from at least, so that some can be held out."""


@dataclass(frozen=True, slots=True)
class MemoryPool:
    """Memories that an agent is given answers from: ids, sessions and vectors in rows."""

    ids: tuple[str, ...]
    sessions: tuple[str, ...]
    vectors: Numbers

    def rows(self, ids: Collection[str]) -> list[int]:
        """Return the rows of some memories, in order; those that aren't here are left out."""
        wanted = set(ids)
        return [row for row, key in enumerate(self.ids) if key in wanted]


def splits(
    sessions: Sequence[str], *, validation: float, seed: int, mostly_judge: bool = False
) -> dict[str, PairSplit]:
    """Return what the questions of each session are for, given the session of every question.

    Whole sessions are held out, a fifth of the questions or twice the share of ``validation``, and
    the next ones validate. With ``mostly_judge`` the shares are at least those of ``JUDGING``.
    """
    counts = Counter(sessions)
    held_out = max(MIN_HELD_OUT, min(2 * validation, 0.5))
    if mostly_judge:
        validation, held_out = max(validation, JUDGING[0]), max(held_out, JUDGING[1])
    wanted = {
        PairSplit.HELD_OUT: held_out * len(sessions),
        PairSplit.VALIDATION: validation * len(sessions),
    }
    found: dict[str, PairSplit] = {}
    for session in sorted(
        counts, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest()
    ):
        split = next((each for each, left in wanted.items() if left > 0), PairSplit.TRAINING)
        found[session] = split
        if split in wanted:
            wanted[split] -= counts[session]
    return found


def negatives_of(
    question: TrainingQuestion, vector: Numbers, pool: MemoryPool, by_words: Sequence[str], k: int
) -> tuple[str, ...]:
    """Return the ids of memories that look most like an answer and surely are none.

    ``k`` of the nearest by meaning, and ``k`` of ``by_words``, which is a ranking of ids.
    """
    import numpy as np

    allowed = far_from_answers(question.relevant, pool, pool.vectors @ vector)
    order = np.argsort(-(pool.vectors @ vector), kind="stable")
    near = [pool.ids[row] for row in order if allowed[row]][:k]
    wrong = {pool.ids[row] for row in np.flatnonzero(allowed)}
    worded = [key for key in by_words if key in wrong][:k]
    return tuple(dict.fromkeys((*near, *worded)))


def training_groups(
    questions: Sequence[TrainingQuestion], pools: Mapping[str, MemoryPool]
) -> list[TrainingGroup]:
    """Return what training learns from: the questions of each agent among its texts.

    These are the answers and the mined negatives of all of the agent's questions.
    """
    by_agent = defaultdict[str, list[TrainingQuestion]](list)
    for question in questions:
        by_agent[question.agent_id].append(question)
    groups = [_group(by_agent[agent], pools[agent]) for agent in sorted(by_agent)]
    return [group for group in groups if group is not None]


def _group(questions: Sequence[TrainingQuestion], pool: MemoryPool) -> TrainingGroup | None:
    import numpy as np

    named = {key for q in questions for key in (*q.relevant, *q.negatives)}
    kept = pool.rows(named)
    small = MemoryPool(
        tuple(pool.ids[row] for row in kept),
        tuple(pool.sessions[row] for row in kept),
        pool.vectors[kept],
    )
    known = [question for question in questions if small.rows(question.relevant)]
    if not known:
        return None
    queries = np.stack([np.frombuffer(question.vector, np.float32) for question in known])
    targets = np.zeros((len(known), len(kept)), np.float32)
    allowed = np.zeros((len(known), len(kept)), bool)
    scores = queries @ small.vectors.T
    for row, question in enumerate(known):
        answers = small.rows(question.relevant)
        targets[row, answers] = 1 / len(answers)
        allowed[row] = far_from_answers(question.relevant, small, scores[row])
        allowed[row, answers] = True
    numbers = tuple(question.number for question in known)
    return TrainingGroup(queries, small.vectors, targets, allowed, numbers)


def far_from_answers(relevant: Collection[str], pool: MemoryPool, scores: Numbers) -> Flags:
    """Return which memories are surely no answer, given how similar each is to the question."""
    import numpy as np

    answers = pool.rows(relevant)
    if not answers:
        return np.zeros(len(pool.ids), bool)
    own = {pool.sessions[row] for row in answers}
    elsewhere = np.array([session not in own for session in pool.sessions], bool)
    best = float(scores[answers].max())
    is_far: Flags = elsewhere & (scores < CLOSE * best)
    is_far[answers] = False
    return is_far
