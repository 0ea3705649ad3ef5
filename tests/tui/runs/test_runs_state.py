"""Pages of steps near the view, following the end, and what a form's fields come to."""

from dataclasses import replace
from pathlib import Path

import pytest

from synthorg_tui.host.runs import StepPage
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import RunProfile, RunStatus, RunStep, StepKind
from synthorg_tui.tui.runs.state import (
    MAX_PAGES,
    PAGE,
    RunFields,
    StepPages,
    can_go_on,
    limit_problem,
    work_text,
)
from tests.tui.runs.run_fakes import run, step

MANY = 10_000
EXECUTORS = {"builtin": "", "codex": "it isn't installed"}


def stored(count: int) -> list[RunStep]:
    return [step(number, StepKind.NOTE, f"note {number}") for number in range(1, count + 1)]


def read(pages: StepPages, steps: list[RunStep], after: int, limit: int = PAGE) -> None:
    pages.take(after, StepPage(tuple(steps[after : after + limit]), len(steps)))


def test_of_ten_thousand_steps_only_pages_near_the_view_are_kept() -> None:
    steps, pages = stored(MANY), StepPages("r")
    read(pages, steps, 0)
    for row in range(0, MANY, 37):
        while (after := pages.wanted(row, row + 20)) is not None:
            read(pages, steps, after)
        assert pages.get(row) is steps[row]
    kept = sum(pages.get(row) is not None for row in range(MANY))
    assert kept <= MAX_PAGES * PAGE
    assert pages.last == MANY


def test_a_page_that_ended_early_is_read_on() -> None:
    steps, pages = stored(50), StepPages("r")
    read(pages, steps, 0, limit=3)
    assert pages.wanted(0, 2) is None
    assert pages.wanted(0, 10) == 3
    read(pages, steps, 3)
    assert pages.wanted(0, 49) is None


def test_new_steps_are_read_behind_those_that_are_there() -> None:
    steps, pages = stored(PAGE + 5), StepPages("r")
    read(pages, steps[: PAGE - 1], 0)
    assert pages.end == PAGE - 1
    read(pages, steps, pages.end)
    assert pages.last == PAGE + 5
    assert pages.get(PAGE + 4) is steps[-1]


def test_the_end_is_followed_while_the_cursor_is_there() -> None:
    steps, pages = stored(5), StepPages("r")
    read(pages, steps, 0)
    assert pages.follows
    pages.moved(3)
    assert not pages.follows
    pages.moved(4)
    assert pages.follows


def fields(tmp_path: Path) -> RunFields:
    return RunFields("Fix it", "ada", str(tmp_path), "builtin", limits={"turns": "", "cost": ""})


def test_whole_fields_become_a_request_with_the_limits_of_the_settings(tmp_path: Path) -> None:
    typed = replace(fields(tmp_path), task=" Fix it ", model=" ", limits={"turns": "7", "cost": ""})
    assert typed.problem(EXECUTORS) is None
    request = typed.request(RunLimits(turns=30, tokens=999, cost=1.5))
    assert (request.task, request.model, request.workspace) == ("Fix it", None, tmp_path)
    assert (request.limits.turns, request.limits.tokens, request.limits.cost) == (7, 999, 1.5)
    assert request.profile is RunProfile.ASK


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"task": " \n"}, "task"),
        ({"agent_id": ""}, "agent"),
        ({"agent_id": "__me"}, "agent"),
        ({"workspace": "/nowhere/at/all"}, "workspace"),
        ({"workspace": "a\0b"}, "workspace"),
        ({"executor": "codex"}, "executor"),
        ({"executor": "dance"}, "executor"),
        ({"limits": {"turns": "0"}}, "turns"),
    ],
)
def test_the_first_field_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, changed: dict[str, object], field: str
) -> None:
    problem = replace(fields(tmp_path), **changed).problem(EXECUTORS)  # type: ignore[arg-type]
    assert problem is not None
    assert problem[0] == field
    assert problem[1]


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("turns", ("1", "1000", " "), ("0", "1001", "1.5", "ten", "٣")),
        ("tokens", ("1", "9000000"), ("0", "-1")),
        ("cost", ("0", "0.5", ""), ("-0.1", "inf", "nan", "x")),
        ("seconds", ("0.1", "3600"), ("0", "-1", "inf")),
    ],
)
def test_limits_are_checked_on_both_sides_of_their_bounds(
    name: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    assert [limit_problem(name, text) for text in right] == [""] * len(right)
    assert all(limit_problem(name, text) for text in wrong)


def test_what_broke_off_can_go_on_and_what_is_done_or_waits_cannot() -> None:
    assert can_go_on(run(0, RunStatus.INTERRUPTED))
    assert not can_go_on(run(0, RunStatus.RUNNING))
    assert not can_go_on(run(0, RunStatus.PARKED))
    assert not can_go_on(run(0))


def test_the_header_counts_runs_and_their_turns() -> None:
    running = run(0, RunStatus.RUNNING)
    assert work_text(()) == ""
    assert work_text((running,)) == "1 run · 3 turns"
    assert work_text((running, run(1, RunStatus.RUNNING, turns=1))) == "2 runs · 4 turns"
