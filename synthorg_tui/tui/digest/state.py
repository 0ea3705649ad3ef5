"""The question of the Digest pane, its newest answer, and the pace of requests.

Everything here is tested without a screen and without an engine: no Textual, and the engine's types
are loaded by the first question.
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
"""Seconds an answer may take for the next key press to start a request at once."""
REST = 0.2
"""Seconds without a key press until a request starts whose answer will take long."""


class Pacing:
    """Decides when a key press starts a request: at once, or, if answers are slow, after a pause.

    It uses the duration of the last request, even of one that was cancelled. Times are seconds of
    any monotonic clock.
    """

    def __init__(self) -> None:
        self._asked: float | None = None
        self._took = 0.0

    def delay(self, now: float) -> float:
        """Return the seconds to wait, from a key press at ``now``, before the next request.

        A running request counts as cancelled by it.
        """
        if self._asked is not None:
            self._took = max(self._took, now - self._asked)
            self._asked = None
        return 0.0 if self._took <= QUICK else REST

    def asked(self, now: float) -> None:
        """Record that a request started."""
        self._asked = now

    def answered(self, now: float) -> None:
        """Record that the running request was answered or failed."""
        if self._asked is not None:
            self._took, self._asked = now - self._asked, None


FIRST_BUDGET = 1000
MAX_BUDGET = 1_000_000
_STEPS = ((200, 20), (1000, 100), (5000, 500), (MAX_BUDGET, 5000))


@dataclass(frozen=True, slots=True)
class Before:
    """The text that changes are compared with, and the parts of the question it is valid for."""

    agent_id: str
    query: str
    text: str


class Digest:
    """The question and its newest answer; answers to older requests are dropped.

    ``tools`` are the names of the tools an agent gets. ``text_tokens`` is the length of the whole
    text in tokens, including what surrounds the memories.
    """

    def __init__(self) -> None:
        self.agent_id = ""
        self.query = ""
        self.budget = self.usual_budget = FIRST_BUDGET
        self.budget_chosen = False
        self.options = Options()
        self.elsewhere = ""
        self.pinned: tuple[str, ...] = ()
        self.excluded: tuple[str, ...] = ()
        self.latest = Latest()
        self.answer: Explanation | None = None
        self.tools: tuple[str, ...] = ()
        self.text_tokens = 0
        self.before: Before | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the question has an agent and a task."""
        return bool(self.agent_id and self.query.strip())

    @property
    def question(self) -> Question | None:
        """Return the question, or ``None`` if it isn't complete."""
        if not self.is_complete:
            return None
        from synthorg_tui.memory.scenarios import Question

        return Question(
            agent_id=self.agent_id,
            query=self.query.strip(),
            token_budget=self.budget,
            overrides=self.options.overrides,
            visibility=self.options.visibility,
            pinned=self.pinned,
            excluded=self.excluded,
        )

    @property
    def waiting(self) -> bool:
        """Whether the newest request is still unanswered."""
        return self.latest.waiting

    def turn(self) -> int:
        """Begin a new request and return its number; answers to older ones are dropped."""
        generation = self.latest.ask()
        if not self.is_complete:
            self.fail(generation)
        return generation

    def take(self, generation: int, injection: Injection, text_tokens: int) -> bool:
        """Store an answer; return ``False``, and drop it, if a newer request was made meanwhile."""
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
        """Record that a request failed; return ``False`` if a newer one was made meanwhile."""
        if not self.latest.answer(generation):
            return False
        self.answer = None
        return True

    def compare_from_here(self) -> None:
        """Compare later texts with the present one."""
        if self.before is not None and self.answer is not None:
            self.before = replace(self.before, text=self.answer.text)

    @property
    def text_changed(self) -> bool:
        """Whether the text differs from the one it is compared with."""
        return (
            self.answer is not None
            and self.before is not None
            and self.answer.text != self.before.text
        )

    def toggle_pin(self, memory_id: str) -> None:
        """Pin or unpin a memory; pinning removes an exclusion."""
        self.excluded = _without(self.excluded, memory_id)
        self.pinned = _toggled(self.pinned, memory_id)

    def toggle_exclude(self, memory_id: str) -> None:
        """Exclude or include a memory; excluding it removes a pin."""
        self.pinned = _without(self.pinned, memory_id)
        self.excluded = _toggled(self.excluded, memory_id)

    def suggest_budget(self, budget: int) -> None:
        """Use what agents get by default as the budget, unless the person chose one."""
        self.usual_budget = budget
        if not self.budget_chosen:
            self.budget = budget

    def choose_budget(self, budget: int) -> None:
        """Use a budget that the person chose."""
        self.budget, self.budget_chosen = budget, True

    def step_budget(self, by: int) -> None:
        """Increase or decrease the budget by ``by`` steps, whose size depends on the budget."""
        size = self.budget if by > 0 else self.budget - 1
        step = next(step for until, step in _STEPS if size < until or until == MAX_BUDGET)
        self.choose_budget(min(max(self.budget + by * step, 0), MAX_BUDGET))

    def reset(self) -> None:
        """Reset settings and budget to the configured values, and all pins and exclusions."""
        self.options.reset()
        self.pinned = self.excluded = ()
        self.budget, self.budget_chosen = self.usual_budget, False

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to reset."""
        has_own_budget = self.budget_chosen and self.budget != self.usual_budget
        return bool(self.options.count_changed or self.pinned or self.excluded or has_own_budget)

    def load(self, scenario: Scenario) -> None:
        """Use the question of a scenario."""
        asked = scenario.question
        self.agent_id, self.query = asked.agent_id, asked.query
        self.choose_budget(asked.token_budget)
        self.options.load(asked.overrides)
        self.options.work_in(asked.visibility)
        self.pinned, self.excluded = asked.pinned, asked.excluded


def read_budget(text: str) -> int | None:
    """Return the tokens that ``1500``, ``1,500`` or ``1.5k`` means; ``None`` for other texts."""
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
