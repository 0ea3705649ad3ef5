"""Scenarios as styled lines, with what changed since they were saved; no Textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthorg_tui.tui.base.lines import Line, beside, line, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from synthorg_tui.memory.scenarios import Scenario, ScenarioOutcome


def scenario_lines(
    saved: Iterable[Scenario], runs: Mapping[str, ScenarioOutcome], width: int
) -> list[tuple[object, Line]]:
    """Render a line for each scenario, with its name: result of the last run, question, agent."""
    lines: list[tuple[object, Line]] = []
    for scenario in saved:
        asked = scenario.question
        left = _mark(runs.get(scenario.name)).add(one_line(scenario.name), "strong")
        left.add(f"  {one_line(asked.query)}", "muted")
        right = line((one_line(asked.agent_id), "muted"))
        right.add(f"{asked.token_budget:>7,}t", "faint")
        right.add(f"{len(scenario.expected):>4} in", "faint")
        lines.append((scenario.name, beside(left, right, width)))
    return lines


def _mark(run: ScenarioOutcome | None) -> Line:
    if run is None:
        return line(("· not run   ", "faint"))
    if run.error:
        return line(("✗ failed    ", "bad"))
    if run.is_changed:
        return line(("≠ changed   ", "warn"))
    return line(("✓ the same  ", "good"))


def scenario_detail(scenario: Scenario, run: ScenarioOutcome | None) -> list[Line]:
    """Render a scenario in full: its question, and the result of its last run, if any."""
    return [*_question_lines(scenario), Line(), *_run_lines(run)]


def _question_lines(scenario: Scenario) -> list[Line]:
    asked = scenario.question
    lines = [
        line((one_line(scenario.name), "title")),
        line((one_line(asked.query), "text")),
        Line(),
    ]
    lines.append(line(("agent      ", "muted"), (one_line(asked.agent_id), "text")))
    lines.append(line(("budget     ", "muted"), (f"{asked.token_budget:,} tokens", "text")))
    for name, value in sorted(asked.overrides.items()):
        lines.append(line(("option     ", "muted"), (f"{name} = {value}", "text")))
    for label, ids in (("pinned", asked.pinned), ("excluded", asked.excluded)):
        lines.extend(line((label.ljust(11), "muted"), (memory_id, "faint")) for memory_id in ids)
    return lines


def _run_lines(run: ScenarioOutcome | None) -> list[Line]:
    if run is None:
        return [line(("r", "accent"), (" asks all of them again", "muted"))]
    if run.error:
        return [line(("✗ ", "bad"), (run.error, "text"))]
    if not run.is_changed:
        return [line(("✓ ", "good"), ("The same memories in the same order.", "text"))]
    lines = []
    for sign, role, ids in (("-", "bad", run.removed), ("+", "good", run.added)):
        for memory_id in ids:
            change = line((f"{sign} ", role), (one_line(run.about(memory_id)), role))
            change.hang = 2
            lines.append(change)
    if run.is_reordered:
        lines.append(line(("≠ ", "warn"), ("The same memories in another order.", "text")))
    return [*lines, Line(), line(("a", "accent"), (" takes this as the new expectation", "muted"))]


def runs_caption(runs: Mapping[str, ScenarioOutcome]) -> str:
    """Return how many of the scenarios that ran have a changed digest, as text."""
    if not runs:
        return ""
    changed = sum(run.is_changed for run in runs.values())
    return f"{changed} of {len(runs)} changed" if changed else "all the same"
