"""Saved questions as lines, with what changed since they were saved."""

from collections.abc import Mapping

from synthorg_tui.tui.digest_ports import SavedScenario, ScenarioRun
from synthorg_tui.tui.view_models.ink import Line, beside, line, one_line


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
