"""Triggers: which calls an approved lesson is about, before them and after they failed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.triggers import Trigger, triggers_of
from tests.soak import points
from tests.tables import rows

HERE = "/srv/tidepool"
NO_UPSTREAM = "The current branch retry-fetch has no upstream branch — git push --set-upstream"


def seen(
    failed: str,
    error: str,
    worked: str,
    *between: str,
    run: str = "s1",
    project: str | None = HERE,
) -> Evidence:
    return Evidence(
        execution=f"claude_code:{run}",
        lines=f"claude_code:{run}#L1-L2",
        agent_id="claude-code",
        failed=failed,
        error=error,
        resolved_by=worked,
        between=between,
        project=project,
    )


def failure(*evidence: Evidence) -> tuple[Trigger, ...]:
    return triggers_of(LessonKind.FAILURE, evidence)


def before(triggers: tuple[Trigger, ...], command: str, *, project: str = HERE) -> bool:
    action = AgentAction(command=command, cwd=project, project=project)
    return any(trigger.matches_before(action) for trigger in triggers)


def after(triggers: tuple[Trigger, ...], command: str, error: str, *, project: str = HERE) -> bool:
    action = AgentAction(command=command, error=error, cwd=project, project=project)
    return any(trigger.matches_after(action) for trigger in triggers)


PUSH = failure(seen("git push 2>&1", NO_UPSTREAM, "git push --set-upstream origin retry-fetch"))
FLAG = failure(
    seen(
        "pip install tidepool",
        "This environment is externally-managed",
        "pip install --break-system-packages tidepool",
    )
)
OPTION = failure(
    seen("mytool sync --fast -v", "unknown option '--fast'", "mytool sync -v"),
)
IGNORED = failure(
    seen(
        "git add src static/out",
        "The following paths are ignored by one of your .gitignore files",
        "git add src",
    )
)
ELSEWHERE = failure(
    seen("mix test", "Could not find a Mix.Project to run", "cd backend && mix test")
)
FIRST = seen(
    "mix test", "Unchecked dependencies for environment must run", "mix test", "mix deps.get"
)
GATE = triggers_of(
    LessonKind.GATE,
    [
        seen(
            "git commit -m one",
            "Stop: you must run the formatter",
            "git commit -m one",
            "mix format",
        )
    ],
)


@rows("command", ["git push", "git add -A && git push", "cd x && git push 2>&1"])
def test_a_command_in_the_failing_form_is_known_before_it_runs(command: str) -> None:
    assert before(PUSH, command)


@rows(
    "command",
    [
        "git push -u origin x",
        "git push origin main",
        "git push --set-upstream origin y",
        "git push --force",
        "git pull",
        "echo git push",
        "",
    ],
)
def test_a_command_in_any_other_form_is_not_spoken_of(command: str) -> None:
    assert not before(PUSH, command)


def test_a_general_tool_fails_alike_in_every_project() -> None:
    assert before(PUSH, "git push", project="/srv/other")
    assert not before(IGNORED, "git add src static/out", project="/srv/other")
    assert before(IGNORED, "git add src static/out")


def test_worktrees_beside_each_other_are_of_one_project() -> None:
    one, two = "/srv/tidepool-worktrees/one", "/srv/tidepool-worktrees/two"
    evidence = seen("git add static/out", "paths are ignored by", "git add src", project=one)
    assert before(failure(evidence), "git add static/out", project=two)
    assert before(failure(evidence), "git add static/out", project="/srv/tidepool")
    assert not before(failure(evidence), "git add static/out", project="/srv/other")


def test_names_that_the_error_did_not_speak_of_may_be_others() -> None:
    assert before(FLAG, "pip install barnacle")
    assert not before(FLAG, "pip install -r requirements.txt")
    assert not before(FLAG, "pip install --break-system-packages barnacle")


def test_an_option_that_the_error_named_is_known_among_any_others() -> None:
    assert before(OPTION, "mytool sync --fast --quiet all")
    assert not before(OPTION, "mytool sync --quiet all")


def test_a_name_that_the_error_spoke_of_must_be_the_same() -> None:
    removed = failure(seen("rm old", "cannot remove 'old': must be empty", "rm -r old"))
    assert before(removed, "rm old")
    assert not before(removed, "rm new")


def test_a_directory_is_spoken_of_only_elsewhere() -> None:
    assert before(ELSEWHERE, "mix test")
    assert not before(ELSEWHERE, "cd backend && mix test")
    inside = AgentAction(command="mix test", cwd=f"{HERE}/backend", project=HERE)
    assert not any(trigger.matches_before(inside) for trigger in ELSEWHERE)
    unknown = AgentAction(command="mix test")
    assert not any(trigger.matches_before(unknown) for trigger in ELSEWHERE)


def test_a_preparation_is_spoken_of_after_the_failure_only() -> None:
    assert not before(failure(FIRST), "mix test")
    assert after(failure(FIRST), "mix test", "Unchecked dependencies for environment must run")


def test_a_preparation_that_was_missing_again_and_again_is_spoken_of_before() -> None:
    runs = [FIRST.model_copy(update={"execution": f"run-{number}"}) for number in range(3)]
    assert not before(failure(*runs[:2]), "mix test")
    assert before(failure(*runs), "mix test")
    assert failure(*runs)[0].satisfied_by == ("mix deps.get",)


def test_the_same_error_of_the_same_program_is_known_whatever_its_names() -> None:
    error = "fatal: The current branch other/name has no upstream branch.\nTo push, use"
    assert after(PUSH, "git push", error)
    assert after(PUSH, "git commit -m x && git push", f"[other 1] x\n{error}", project="/else")
    assert not after(PUSH, "git pull", error)
    assert not after(PUSH, "git push", "fatal: could not read from remote repository")
    assert not after(PUSH, "git push", "")


def test_a_failure_that_has_the_answer_already_gets_no_hint() -> None:
    error = "The current branch retry-fetch has no upstream branch."
    assert not after(PUSH, "git push --set-upstream origin retry-fetch", error)


def test_an_error_that_says_too_little_is_no_trigger() -> None:
    vague = failure(seen("tool go", "error: 17", "tool go --all"))
    assert not after(vague, "tool go", "error: 17")


def test_a_gate_is_spoken_of_before_the_gated_command() -> None:
    assert before(GATE, "git add -A && git commit -m two")
    assert not before(GATE, "git status")
    assert not before(GATE, "git commit -m two", project="/srv/other")
    assert GATE[0].satisfied_by == ("mix format",)


def test_a_file_tool_fails_alike_on_any_file() -> None:
    triggers = triggers_of(
        LessonKind.FILE,
        [
            seen(
                "Edit src/a.py",
                "File must be read first before writing to it",
                "Edit src/a.py",
                "Read src/a.py",
            )
        ],
    )
    failed = AgentAction(
        tool="Edit", file="/else/b.py", error="File must be read first before writing to it."
    )
    assert triggers[0].matches_after(failed)
    assert not triggers[0].matches_before(failed)
    assert not triggers[0].matches_after(AgentAction(tool="Read", file="/b.py", error=failed.error))


NO_MATCH = (
    "Could not find the exact text in {}. The old text must match exactly including all"
    " whitespace and newlines."
)


@rows(
    ("file", "named"),
    [
        ("/home/someone/work/tidepool/packages/a/src/core/b.ts", None),
        (f"/home/someone/{'deeply/' * 20}b.ts", None),
        ("/home/some one/my work/b.ts", None),
        ("packages/other/src/b.ts", None),
        ("b.ts", None),
        ("b.ts", "/home/someone/work/tidepool/b.ts"),
    ],
)
def test_an_edit_fails_alike_wherever_and_however_its_file_is_named(
    file: str, named: str | None
) -> None:
    kept = "packages/coding/src/core/index.ts"
    evidence = seen(f"edit {kept}", NO_MATCH.format(kept), f"edit {kept}", "npm run check")
    (trigger,) = triggers_of(LessonKind.FILE, [evidence])
    failed = AgentAction(tool="edit", file=file, error=NO_MATCH.format(named or file), cwd=HERE)
    assert trigger.matches_after(failed)
    other = AgentAction(tool="edit", file=file, error=f"No changes made to {file}. It is the same.")
    assert not trigger.matches_after(other)


def test_an_error_that_was_cut_off_is_known_by_its_beginning() -> None:
    said = f"unknown option --fast for tool, {'which has none of this kind, ' * 8}as you see"
    cut = failure(seen("mytool sync --fast", f"{said[:158]}…", "mytool sync"))
    assert after(cut, "mytool sync --fast", said)
    assert not after(cut, "mytool sync --fast", said[:60])


INSTEAD = triggers_of(
    LessonKind.GATE,
    [seen("npm install gull", "Use pnpm add instead of npm install here.", "pnpm add gull")],
)


def test_another_program_that_a_gate_wants_is_spoken_of_before_and_after() -> None:
    refused = "PreToolUse:Bash hook error: Use pnpm add instead of npm install here."
    assert before(INSTEAD, "npm install tern")
    assert before(INSTEAD, "cd web && npm install tern")
    assert after(INSTEAD, "npm install tern", refused)
    assert not before(INSTEAD, "pnpm add tern")
    assert not before(INSTEAD, "npm run build")
    assert not before(INSTEAD, "npm install")
    assert not before(INSTEAD, "npm install tern", project="/srv/other")
    assert not after(INSTEAD, "npm install tern", "npm error 404 Not Found")


def test_a_gate_about_what_a_message_says_is_spoken_of_at_no_call() -> None:
    evidence = seen("git commit -m 'did it'", "subject may not be empty", "git commit -m 'fix: it'")
    assert triggers_of(LessonKind.GATE, [evidence]) == ()


def test_a_call_as_the_lesson_has_it_tells_that_the_answer_is_known() -> None:
    def known(triggers: tuple[Trigger, ...], command: str) -> bool:
        return any(each.is_known_from(AgentAction(command=command)) for each in triggers)

    assert known(PUSH, "git push --set-upstream origin other")
    assert known(PUSH, "git push -u origin other")
    assert not known(PUSH, "git push -f origin other")
    assert not known(PUSH, "git push origin other")
    assert not known(PUSH, "git pull -u origin other")
    assert not known(OPTION, "mytool sync -v")


def test_a_correction_comes_before_a_change_of_its_files() -> None:
    triggers = triggers_of(
        LessonKind.CORRECTION, [seen("edit src/a.py", "no, leave the header", "", "src/a.py")]
    )
    edit = AgentAction(tool="Edit", file=f"{HERE}/src/a.py", project=HERE)
    assert triggers[0].matches_before(edit)
    assert triggers[0].matches_before(AgentAction(command="rm src/a.py", cwd=HERE, project=HERE))
    assert not triggers[0].matches_before(
        AgentAction(command="cat src/a.py", cwd=HERE, project=HERE)
    )
    other = AgentAction(tool="Edit", file=f"{HERE}/src/b.py", project=HERE)
    assert not triggers[0].matches_before(other)
    elsewhere = AgentAction(tool="Edit", file="/else/src/a.py", project="/else")
    assert not triggers[0].matches_before(elsewhere)


def test_a_correction_of_a_command_comes_before_the_command() -> None:
    triggers = triggers_of(LessonKind.CORRECTION, [seen("git push", "never push by yourself", "")])
    assert before(triggers, "git push")
    assert not before(triggers, "git push origin main")


@rows("kind", [None, LessonKind.HABIT, LessonKind.SUCCESS])
def test_how_things_are_usually_done_triggers_nothing(kind: LessonKind | None) -> None:
    assert triggers_of(kind, [seen("git push", NO_UPSTREAM, "git push -u origin x")]) == ()


def test_evidence_without_commands_triggers_nothing() -> None:
    assert failure(seen("", "", "")) == ()
    assert triggers_of(LessonKind.FILE, [seen("", "", "")]) == ()
    assert triggers_of(LessonKind.CORRECTION, [seen("", "", "")]) == ()


def test_a_failure_that_nothing_has_helped_yet_is_hinted_at_when_it_comes_again() -> None:
    (trigger,) = failure(seen("git push", NO_UPSTREAM, ""))
    again = AgentAction(
        command="git push origin", error=NO_UPSTREAM.partition(" — ")[0], project=HERE
    )
    assert trigger.matches_after(again)
    assert not trigger.matches_before(again)


WORD = st.sampled_from(
    [
        "-v",
        "--all",
        "--set=1",
        "origin",
        "main",
        "src/a.py",
        "x",
        "'a b'",
        "X=1",
        "sudo",
        "cd",
        "&&",
    ]
)
COMMAND = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from(["git push", "npm run build", "tool", "python -m pytest", "cd a && make all"]),
    st.lists(WORD, max_size=5),
)


@settings(max_examples=points(100, 300), deadline=None)
@given(COMMAND, COMMAND, st.sampled_from([NO_UPSTREAM, "unknown option --all", "x: not found"]))
def test_a_trigger_never_matches_the_command_that_worked(
    failed: str, worked: str, error: str
) -> None:
    assert not before(failure(seen(failed, error, worked)), worked)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_hostile_texts_raise_nothing(failed: str, error: str, command: str) -> None:
    for kind in LessonKind:
        triggers = triggers_of(kind, [seen(failed, error, command, command)])
        for action in (
            AgentAction(command=command, error=error, cwd=failed, project=HERE),
            AgentAction(tool=failed, file=command, error=error),
        ):
            [
                trigger.matches_before(action) or trigger.matches_after(action)
                for trigger in triggers
            ]


def test_a_huge_output_is_read_within_bounds() -> None:
    lines = ["The current branch of a long output line " * 40] * 5_000
    assert not after(PUSH, "git push", "\n".join(lines))
    error = "fatal: The current branch x has no upstream branch."
    assert after(PUSH, "git push", "\n".join([*lines, error]))
