"""When to ask after a key: at once, or where answers take long, when the keys rest.

The state of the Digest pane: the question, the newest answer, and what it is compared with.
Saved questions as lines, with what changed since they were saved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from synthorg_tui.tui.base.lines import Line, beside, line, one_line
from synthorg_tui.tui.digest.knobs import Knobs
from synthorg_tui.tui.digest.ports import Answer, Ask, SavedScenario, ScenarioRun

QUICK = 0.5
"""Seconds an answer may take for the next key to be asked at once."""
REST = 0.2
"""Seconds without a key until a question is asked whose answer will take long."""


class Pacing:
    """Goes by how long the last question took, which each key that comes meanwhile cuts short.

    Times are seconds on any clock that doesn't jump.
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
MOST_BUDGET = 1_000_000
_STEPS = ((200, 20), (1000, 100), (5000, 500), (MOST_BUDGET, 5000))


@dataclass(frozen=True, slots=True)
class Before:
    """The text that changes are shown against, and the question's part that must stay the same."""

    agent_id: str
    query: str
    text: str


class Digest:
    """A question under way and its answers; only the answer to the newest question counts."""

    def __init__(self) -> None:
        self.agent_id = ""
        self.query = ""
        self.budget = FIRST_BUDGET
        self.knobs = Knobs()
        self.pinned: tuple[str, ...] = ()
        self.excluded: tuple[str, ...] = ()
        self.answer: Answer | None = None
        self.before: Before | None = None
        self.generation = 0
        self.answered = 0

    @property
    def ask(self) -> Ask | None:
        """The question, when it is complete."""
        if not self.agent_id or not self.query.strip():
            return None
        return Ask(
            self.agent_id,
            self.query.strip(),
            self.budget,
            self.knobs.overrides,
            self.pinned,
            self.excluded,
        )

    @property
    def waiting(self) -> bool:
        """Whether the newest question has no answer yet."""
        return self.answered != self.generation

    def turn(self) -> int:
        """A new question: answers to older ones no longer count."""
        self.generation += 1
        if self.ask is None:
            self.answer, self.answered = None, self.generation
        return self.generation

    def take(self, generation: int, ask: Ask, answer: Answer) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if generation != self.generation:
            return False
        self.answered = generation
        self.answer = answer
        if self.before is None or (self.before.agent_id, self.before.query) != _subject(ask):
            self.before = Before(*_subject(ask), answer.text)
        return True

    def fail(self, generation: int) -> bool:
        """The newest question had an error for an answer."""
        if generation != self.generation:
            return False
        self.answered, self.answer = generation, None
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
        step = next(step for until, step in _STEPS if size < until or until == MOST_BUDGET)
        self.budget = min(max(self.budget + by * step, 0), MOST_BUDGET)

    def reset(self) -> None:
        """Settings as configured, nothing pinned, nothing excluded."""
        self.knobs.reset()
        self.pinned = self.excluded = ()

    @property
    def is_changed(self) -> bool:
        """Whether there is something to reset."""
        return bool(self.knobs.count_changed or self.pinned or self.excluded)

    def load(self, scenario: SavedScenario) -> None:
        """Ask what a scenario asks."""
        ask = scenario.ask
        self.agent_id, self.query, self.budget = ask.agent_id, ask.query, ask.token_budget
        self.knobs.load(dict(ask.overrides))
        self.pinned, self.excluded = ask.pinned, ask.excluded


def read_budget(text: str) -> int | None:
    """Tokens that ``1500``, ``1,500`` or ``1.5k`` means; ``None`` when it means nothing."""
    plain = text.strip().lower().replace(",", "").replace("_", "")
    scale = 1000 if plain.endswith("k") else 1
    try:
        number = float(plain.removesuffix("k")) * scale
    except ValueError:
        return None
    return int(number) if 0 <= number <= MOST_BUDGET else None


def _subject(ask: Ask) -> tuple[str, str]:
    return ask.agent_id, ask.query


def _without(ids: tuple[str, ...], memory_id: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != memory_id)


def _toggled(ids: tuple[str, ...], memory_id: str) -> tuple[str, ...]:
    return _without(ids, memory_id) if memory_id in ids else (*ids, memory_id)


def scenario_lines(
    saved: tuple[SavedScenario, ...], runs: Mapping[str, ScenarioRun], width: int
) -> list[tuple[object, Line]]:
    """A line for each scenario: how it went, its name, the question, the agent."""
    made: list[tuple[object, Line]] = []
    for each in saved:
        left = _mark(runs.get(each.name)).add(one_line(each.name), "strong")
        left.add(f"  {one_line(each.ask.query)}", "muted")
        right = line((one_line(each.ask.agent_id), "muted"))
        right.add(f"{each.ask.token_budget:>7,}t", "faint")
        right.add(f"{len(each.expected):>4} in", "faint")
        made.append((each, beside(left, right, width)))
    return made


def _mark(run: ScenarioRun | None) -> Line:
    if run is None:
        return line(("· not run   ", "faint"))
    if run.error:
        return line(("✗ failed    ", "bad"))
    if run.is_changed:
        return line(("≠ changed   ", "warn"))
    return line(("✓ the same  ", "good"))


def run_lines(scenario: SavedScenario, run: ScenarioRun | None) -> list[Line]:
    """One scenario in full: what it asks, and what came and went."""
    ask = scenario.ask
    made = [line((one_line(scenario.name), "title")), line((one_line(ask.query), "text")), Line()]
    made.append(line(("agent      ", "muted"), (one_line(ask.agent_id), "text")))
    made.append(line(("budget     ", "muted"), (f"{ask.token_budget:,} tokens", "text")))
    for name, value in ask.overrides:
        made.append(line(("option     ", "muted"), (f"{name} = {value}", "text")))
    for label, ids in (("pinned", ask.pinned), ("excluded", ask.excluded)):
        made.extend(line((label.ljust(11), "muted"), (memory_id, "faint")) for memory_id in ids)
    made.append(Line())
    if run is None:
        return [*made, line(("r", "accent"), (" asks all of them again", "muted"))]
    if run.error:
        return [*made, line(("✗ ", "bad"), (run.error, "text"))]
    if not run.is_changed:
        return [*made, line(("✓ ", "good"), ("The same memories in the same order.", "text"))]
    notes = dict(run.notes)
    for sign, role, ids in (("-", "bad", run.removed), ("+", "good", run.added)):
        for memory_id in ids:
            change = line((f"{sign} ", role), (one_line(notes.get(memory_id, memory_id)), role))
            change.hang = 2
            made.append(change)
    if run.is_reordered:
        made.append(line(("≠ ", "warn"), ("The same memories in another order.", "text")))
    return [*made, Line(), line(("a", "accent"), (" takes this as the new expectation", "muted"))]


def runs_caption(runs: Mapping[str, ScenarioRun]) -> str:
    """How many changed of those that ran."""
    if not runs:
        return ""
    changed = sum(run.is_changed for run in runs.values())
    return f"{changed} of {len(runs)} changed" if changed else "all the same"
