"""What sessions say of their project: each line with its counters, and none that isn't true."""

from datetime import timedelta

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.knowledge.certainty import LEAST
from synthorg_tui.knowledge.lines import most_useful
from synthorg_tui.learning.project_commands import ALL_ROLES, command_uses
from tests.knowledge.knowledge_kit import (
    NOW,
    at,
    known,
    node_run,
    python_run,
    rust_run,
    sightings,
)
from tests.learning.lesson_kit import START, Run
from tests.tables import rows


def test_runs_of_a_part_are_counted_by_themselves() -> None:
    lines = known(python_run().done())
    whole, part = lines["command|test|pytest"], lines["command|part|pytest <part>"]
    assert (whole.text, whole.good, whole.bad) == ("Test with `pytest -q`", 1, 0)
    assert (part.text, part.good, part.bad) == ("Test a part with `pytest <path> -q`", 1, 1)
    assert part.counts == "1 of 2 runs passed, in 1 session, last 2026-03-01"


def test_a_failure_that_a_pipe_hides_is_one() -> None:
    lines = known(rust_run().done())
    assert lines["command|test|cargo test"].text == "Test with `cargo test --workspace`"
    assert "command|build|cargo build" not in lines


def test_what_never_passed_is_no_way_to_do_it() -> None:
    run = Run(project="/srv/kiln").bash("make build", "make: *** [all] Error 1", code=2)
    assert known(run.bash("make build", "make: *** [all] Error 1", code=2).done()) == {}


def test_a_command_whose_failure_the_line_swallows_proves_nothing() -> None:
    run = Run().bash("mix test || true", "").bash("mix test || echo no", "no")
    assert command_uses(run.done(), ALL_ROLES) == {}


def test_a_script_is_told_with_what_it_stands_for_and_not_by_a_cut_output() -> None:
    line = known(node_run().done())["script|check|"]
    assert line.text == "The script `check` runs `eslint . && tsc --noEmit`"
    assert line.good == 1


@rows(
    ("directory", "line"),
    [
        ("/srv/kiln", "The script `check` runs `eslint . && tsc`"),
        ("web", "The script `check` in `web` runs `eslint . && tsc`"),
        ("/srv/other", None),
        ("../other", None),
    ],
)
def test_a_script_of_another_project_is_none_of_this_one(directory: str, line: str | None) -> None:
    printed = "\n> kiln@1.0.0 check\n> eslint . && tsc\n"
    run = Run(project="/srv/kiln").bash(f"cd {directory} && npm run check", printed)
    found = [each.text for key, each in known(run.done()).items() if key.startswith("script|")]
    assert found == ([line] if line else [])


def test_what_runs_by_itself_at_commits_is_told_with_how_many() -> None:
    lines = known(node_run().done())
    assert lines["hook|pre-commit"].text == "The pre-commit hook runs `npm run check`"
    assert lines["hook|pre-commit"].counts.startswith("ran 3 times")
    text = known(python_run().done())["hook|pre-commit"].text
    assert text == "The pre-commit hook runs `ruff` and `mypy`"


def test_what_runs_by_itself_at_pushes_is_told() -> None:
    said = "Build.....Passed\nLint......Passed\nTo github.com:x/kiln.git\n   a..b  main -> main"
    run = Run(project="/srv/kiln").bash("git push", said).bash("git push", said)
    assert known(run.done())["hook|pre-push"].text == "The pre-push hook runs `Build` and `Lint`"


def test_a_script_that_the_agent_ran_before_its_commit_is_no_hook() -> None:
    run = Run(project="/srv/shop-web")
    for number in range(3):
        run.bash(
            'npm run check && git commit -m "Add it"',
            f"\n> shop@1.0.0 check\n> tsc\n\n[main abcdef{number}] Add it\n 1 file changed",
        )
    assert not [key for key in known(run.done()) if key.startswith("hook")]


IGNORED = (
    "The following paths are ignored by one of your .gitignore files:\n{}\n"
    "hint: Use -f if you really want to add them."
)


@rows(
    ("commands", "lines"),
    [
        (["git add src dist/app!"], ["Git ignores `dist/app`: leave it out of commits"]),
        (
            ["git add src dist/app!", "git add src", "git commit -m x"],
            ["Git ignores `dist/app`: leave it out of commits"],
        ),
        (["git add dist/app!", "git add -f dist/app"], []),
        (["git add dist/app!", "git add --force dist/app && git commit -m x"], []),
        (["git add app!"], []),
    ],
)
def test_an_ignored_path_is_left_out_unless_it_was_added_all_the_same(
    commands: list[str], lines: list[str]
) -> None:
    run = Run(project="/srv/kiln")
    for command in commands:
        path = command.rstrip("!").rpartition(" ")[2]
        failed = command.endswith("!")
        run.bash(command.rstrip("!"), IGNORED.format(path) if failed else "", code=failed or None)
    assert [line.text for line in known(run.done()).values()] == lines


def committed(run: Run, *before: str, number: int) -> None:
    run.edit("kiln/oven.py", old=str(number))
    for command in before:
        run.bash(command, "ok")
    run.bash("git commit -m x", f"[main 12345{number}7] Fire it {number}\n 1 file changed")


def test_what_passed_before_most_commits_is_one_line_in_its_order() -> None:
    run = Run(project="/srv/kiln")
    committed(run, "mise run test", "mise run lint", "mise run fmt", number=1)
    committed(run, "mise run lint && mise run fmt", number=2)
    committed(run, "mise run fmt", "mise run glaze", number=3)
    line = known(run.done())["before"]
    assert line.text == "Before a commit run `mise run fmt` and `mise run lint`"
    assert line.counts.startswith("passed before 2 of 3 commits")


@rows(
    "after",
    [
        ("mise run lint!",),
        ("mise run lint", "edit"),
        ("mise run lint || true",),
        ("cat lint.log",),
        ("mise tasks",),
    ],
)
def test_what_did_not_pass_after_the_last_change_came_before_no_commit(after: tuple[str]) -> None:
    run = Run(project="/srv/kiln")
    for number in range(3):
        for command in after:
            if command == "edit":
                run.edit("kiln/oven.py", old=str(number))
            else:
                run.bash(command.rstrip("!"), "", code=1 if command.endswith("!") else None)
        committed(run, number=number)
    assert "before" not in known(run.done())


def test_how_commits_are_written_needs_most_of_them() -> None:
    line = known(python_run().done())["commits"]
    assert line.text.startswith("Commit messages begin `type(scope): subject`, such as “feat(oven)")
    mixed = python_run()
    for word in ("One", "Two", "Three"):
        mixed.bash("git commit -m x", f"[main 1234567] {word} more thing\n 1 file changed")
    assert "commits" not in known(mixed.done())


def test_a_commit_that_takes_one_of_two_ways_is_a_decision() -> None:
    message = "feat: ovens\n\n- Use gas instead of wood\n- Add a lid"
    body = f"git commit -m \"$(cat <<'EOF'\n{message}\nEOF\n)\""
    run = Run(project="/srv/kiln").bash(body, "[main abc1234] feat: ovens\n 2 files changed")
    decisions = [line.text for key, line in known(run.done()).items() if "decision" in key]
    assert decisions == ["Use gas instead of wood (commit abc1234)"]


@rows(
    "subject",
    [
        "Merge branch 'main' into oven so that it is used instead of the kiln",
        "fix: read the lid because it is used",
        "Split the oven into two focused tests:",
        "Add a lid",
        "Rename the oven to kiln",
        "More telling name rather than the generic one",
    ],
)
def test_a_commit_that_only_tells_what_is_new_is_no_decision(subject: str) -> None:
    run = Run(project="/srv/kiln").bash("git commit -m x", f"[main abc1234] {subject}\n 2 files")
    assert not [key for key in known(run.done()) if "decision" in key]


def test_a_page_has_the_lines_that_are_worth_most() -> None:
    run = Run(project="/srv/kiln")
    for number in range(4):
        committed(run, "mise run fmt", "mise run lint", number=number)
        for name in ("test", "unit", "check", "vet", "build", "bundle", "dev", "gen", "migrate"):
            run.bash(f"mise run {name}", "ok")
        run.bash("git add dist/a", IGNORED.format("dist/a"), code=1)
    lines = known(run.done()).values()
    kept = most_useful(lines)
    assert len(lines) > 12 == len(kept)
    assert kept == [line for line in lines if line in kept]
    assert min(one.certainty for one in kept if one.section == "commands") >= LEAST


def test_what_an_agent_told_of_its_own_run_says_nothing() -> None:
    told = python_run().done().model_copy(update={"reported": True})
    assert sightings(told) == []


def test_a_call_that_was_refused_or_runs_on_is_no_run() -> None:
    run = Run(project="/srv/kiln").bash("make test", "x", outcome=CallOutcome.DENIED_BY_USER)
    assert known(run.bash("make test", "x", outcome=CallOutcome.UNKNOWN).done()) == {}


def test_every_session_that_shows_it_makes_it_more_certain() -> None:
    one = known(rust_run("a").done())["command|test|cargo test"].certainty
    two = known(rust_run("a").done(), rust_run("b").done())["command|test|cargo test"].certainty
    assert LEAST < one <= 0.7 < two <= 0.95


def test_certainty_goes_as_the_project_goes_on_without_it() -> None:
    old, later = rust_run("a").done(), START + timedelta(days=300)
    other = at(Run("b", project="/srv/ferry").bash("cargo fmt").done(), later)
    rested = known(old, now=later)["command|test|cargo test"].certainty
    assert "command|test|cargo test" not in known(old, other, now=later)
    assert 0 < rested < known(old)["command|test|cargo test"].certainty


def test_sessions_that_only_fail_turn_the_evidence() -> None:
    good = rust_run("a").done()
    bad = Run("b", project="/srv/ferry").bash("cargo test --workspace", "error: no", code=101)
    turned = known(good, at(bad.done(), NOW))["command|test|cargo test"].certainty
    assert turned <= known(good)["command|test|cargo test"].certainty / 2 + 0.05


def test_episodes_name_the_lines_of_each_session_the_latest_first() -> None:
    first, second = rust_run("a").done(), at(rust_run("b").done(), NOW)
    episodes = known(first, second)["command|test|cargo test"].episodes
    assert [each.partition("#")[0] for each in episodes] == ["claude_code:b", "claude_code:a"]
