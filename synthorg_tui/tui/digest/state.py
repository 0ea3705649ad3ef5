"""The question of the Digest pane, its newest answer, and when to ask after a key.

Everything here is tested without a screen and without an engine: no Textual, and the engine's
types are loaded by the first question that is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from synthorg_tui.tui.base.window import Latest
from synthorg_tui.tui.digest.options import Options

if TYPE_CHECKING:
    from synthorg_tui.memory.retrieval.explanation import Explanation
    from synthorg_tui.memory.scenarios import Question, Scenario
    from synthorg_tui.memory.strategies.service import Injection

QUICK = 0.5
"""Seconds an answer may take for the next key to be asked at once."""
REST = 0.2
"""Seconds without a key until a question is asked whose answer will take long."""


class Pacing:
    """When to ask after a key: at once, or where answers take long, once the keys rest.

    It goes by how long the last question took, which a key that comes meanwhile cuts short. Times
    are seconds on any clock that doesn't jump.
    """

    def __init__(self) -> None:
        self._asked: float | None = None
        self._took = 0.0

    def delay(self, now: float) -> float:
        """Seconds from a key at ``now`` until to ask; a question under way is given up for it."""
        if self._asked is not None:
            self._took = max(self._took, now - self._asked)
            self._asked = None
        return 0.0 if self._took <= QUICK else REST

    def asked(self, now: float) -> None:
        """A question is under way."""
        self._asked = now

    def answered(self, now: float) -> None:
        """The question under way has its answer, or failed."""
        if self._asked is not None:
            self._took, self._asked = now - self._asked, None


FIRST_BUDGET = 1000
MAX_BUDGET = 1_000_000
_STEPS = ((200, 20), (1000, 100), (5000, 500), (MAX_BUDGET, 5000))


@dataclass(frozen=True, slots=True)
class Before:
    """The text that changes are shown against, and the question's part that must stay the same."""

    agent_id: str
    query: str
    text: str


class Digest:
    """A question under way and its answers; only the answer to the newest question is taken.

    ``tools`` are the names of the tools an agent gets, ``text_tokens`` is the length of the whole
    text, what stands around the memories included.
    """

    def __init__(self) -> None:
        self.agent_id = ""
        self.query = ""
        self.budget = FIRST_BUDGET
        self.options = Options()
        self.pinned: tuple[str, ...] = ()
        self.excluded: tuple[str, ...] = ()
        self.latest = Latest()
        self.answer: Explanation | None = None
        self.tools: tuple[str, ...] = ()
        self.text_tokens = 0
        self.before: Before | None = None

    @property
    def is_complete(self) -> bool:
        """Whether there is a question: somebody, and something to do."""
        return bool(self.agent_id and self.query.strip())

    @property
    def question(self) -> Question | None:
        """The question, when it is complete."""
        if not self.is_complete:
            return None
        from synthorg_tui.memory.scenarios import Question

        return Question(
            agent_id=self.agent_id,
            query=self.query.strip(),
            token_budget=self.budget,
            overrides=self.options.overrides,
            pinned=self.pinned,
            excluded=self.excluded,
        )

    @property
    def waiting(self) -> bool:
        """Whether the newest question has no answer yet."""
        return self.latest.waiting

    def turn(self) -> int:
        """Begin a new question: answers to older ones are dropped."""
        generation = self.latest.ask()
        if not self.is_complete:
            self.fail(generation)
        return generation

    def take(self, generation: int, injection: Injection, text_tokens: int) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if not self.latest.answer(generation):
            return False
        answer = self.answer = injection.explanation
        self.tools = tuple(tool.name for tool in injection.tools)
        self.text_tokens = text_tokens
        subject = (answer.agent_id, answer.query)
        if self.before is None or (self.before.agent_id, self.before.query) != subject:
            self.before = Before(*subject, answer.text)
        return True

    def fail(self, generation: int) -> bool:
        """Take it that the newest question has no answer; ``False`` as with ``take``."""
        if not self.latest.answer(generation):
            return False
        self.answer = None
        return True

    def compare_from_here(self) -> None:
        """Later changes are shown against the present text."""
        if self.before is not None and self.answer is not None:
            self.before = replace(self.before, text=self.answer.text)

    @property
    def text_changed(self) -> bool:
        """Whether the text differs from the one compared with."""
        return (
            self.answer is not None
            and self.before is not None
            and self.answer.text != self.before.text
        )

    def toggle_pin(self, memory_id: str) -> None:
        """Pin a memory or let it go; a pinned one is not excluded."""
        self.excluded = _without(self.excluded, memory_id)
        self.pinned = _toggled(self.pinned, memory_id)

    def toggle_exclude(self, memory_id: str) -> None:
        """Exclude a memory or let it in; an excluded one is not pinned."""
        self.pinned = _without(self.pinned, memory_id)
        self.excluded = _toggled(self.excluded, memory_id)

    def step_budget(self, by: int) -> None:
        """More or less budget, in steps that suit its size."""
        size = self.budget if by > 0 else self.budget - 1
        step = next(step for until, step in _STEPS if size < until or until == MAX_BUDGET)
        self.budget = min(max(self.budget + by * step, 0), MAX_BUDGET)

    def reset(self) -> None:
        """Settings as configured, nothing pinned, nothing excluded."""
        self.options.reset()
        self.pinned = self.excluded = ()

    @property
    def is_changed(self) -> bool:
        """Whether there is something to reset."""
        return bool(self.options.count_changed or self.pinned or self.excluded)

    def load(self, scenario: Scenario) -> None:
        """Ask what a scenario asks."""
        asked = scenario.question
        self.agent_id, self.query, self.budget = asked.agent_id, asked.query, asked.token_budget
        self.options.load(asked.overrides)
        self.pinned, self.excluded = asked.pinned, asked.excluded


def read_budget(text: str) -> int | None:
    """Tokens that ``1500``, ``1,500`` or ``1.5k`` means; ``None`` when it means nothing."""
    plain = text.strip().lower().replace(",", "").replace("_", "")
    scale = 1000 if plain.endswith("k") else 1
    try:
        number = float(plain.removesuffix("k")) * scale
    except ValueError:
        return None
    return int(number) if 0 <= number <= MAX_BUDGET else None


def _without(ids: tuple[str, ...], memory_id: str) -> tuple[str, ...]:
    return tuple(other for other in ids if other != memory_id)


def _toggled(ids: tuple[str, ...], memory_id: str) -> tuple[str, ...]:
    return _without(ids, memory_id) if memory_id in ids else (*ids, memory_id)
