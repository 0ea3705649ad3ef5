"""What hooks and checks want before they let a call through: the tables are the specification."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.learning.capture import FailureCaptureStrategy, create_capture_strategy
from synthorg_tui.learning.lessons import MAX_TITLE
from synthorg_tui.learning.mistakes import find_mistakes
from synthorg_tui.memory.config import CaptureConfig
from tests.learning.lesson_kit import Run
from tests.tables import rows

BLOCKED = CallOutcome.BLOCKED_BY_HOOK
COMMIT = "git add src/a.py && git commit -m 'did it'"
FORMAT = "Pre-commit validation failed:\\n\\n[FORMAT] Not formatted.\\nRun 'cargo fmt' to fix."
RUFF = "ruff-format..................Failed\n- hook id: ruff-format\n- exit code: 1"
REWROTE = "black....Failed\n- hook id: black\n- files were modified by this hook\nreformatted a.py"
LINT = "husky - pre-commit hook exited with code 1\n\n> app lint\n✖ 2 problems. Run npm run lint."
NO_TYPE = (
    "⧗   input: did it\n✖   type may not be empty [type-empty]\nhusky - commit-msg hook failed"
)
PROTECTED = "remote: error: GH006: Protected branch update failed for refs/heads/main."
PNPM = "PreToolUse:Bash hook error: Use pnpm add instead of npm install in this repository."
CHECKS = "lint\tfail\t12s\thttps://ci.test/1\nbuild\tpass\t1m\thttps://ci.test/2"


def blocked(said: str, command: str = COMMIT) -> Run:
    return Run().bash(command, said, outcome=BLOCKED)


TEACH = {
    "a hook of the agent's client that names the command": (
        blocked(FORMAT).bash("cargo fmt").bash(COMMIT, "[b 1] did it"),
        ("Run `cargo fmt` before `git commit`", ("cargo fmt",)),
    ),
    "a formatter of the pre-commit framework": (
        Run().bash(COMMIT, RUFF, code=1).bash("ruff format .").bash(COMMIT, "[b 1] did it"),
        ("Run `ruff format .` before `git commit`", ("ruff format .",)),
    ),
    "a check whose faults were put right by hand": (
        Run()
        .bash(COMMIT, LINT, code=1)
        .edit("src/a.js")
        .bash("npm run lint")
        .bash(COMMIT, "[b 1] did it"),
        ("Run `npm run lint` before `git commit`", ("npm run lint",)),
    ),
    "another program that a hook asks for": (
        blocked(PNPM, "npm install zod").bash("pnpm add zod", "ok"),
        ("Use `pnpm add` instead of `npm install` here", ()),
    ),
    "another program with other options": (
        blocked("Blocked: rm is not allowed. Use `trash` instead.", "rm -rf out").bash("trash out"),
        ("Use `trash` instead of `rm` here", ()),
    ),
    "two gates one after the other": (
        blocked(FORMAT)
        .bash("cargo fmt")
        .bash(COMMIT, "clippy failed.\nRun cargo clippy first.", outcome=BLOCKED)
        .bash("cargo clippy --fix")
        .bash(COMMIT, "[b 1] did it"),
        ("Run `cargo fmt` before `git commit`", ("cargo fmt",)),
    ),
}

SILENT = {
    "a branch was made, which any agent does": Run()
    .bash("git push origin main", PROTECTED, code=1)
    .bash("git switch -c fix-tides")
    .bash("git push -u origin fix-tides", "ok"),
    "a check of a pull request": Run()
    .bash("gh pr checks", CHECKS, code=1)
    .bash("ruff check --fix .")
    .bash("git commit -am 'lint' && git push", "ok")
    .bash("gh pr checks", "lint\tpass\t9s\thttps://ci.test/3"),
    "a hook that rewrote the files itself": Run()
    .bash(COMMIT, REWROTE, code=1)
    .bash(COMMIT, "[b 1] did it"),
    "a rule for messages": Run()
    .bash(COMMIT, NO_TYPE, code=1)
    .bash(COMMIT.replace("did", "fix: did"), "[b 1]"),
    "code was changed, and nothing that the gate names was run": blocked("Tests failed.")
    .edit("src/a.py")
    .bash(COMMIT, "[b 1]"),
    "the named command was never run": blocked(FORMAT).bash(COMMIT, "[b 1]"),
    "the named command failed": blocked(FORMAT).bash("cargo fmt", "no", code=1).bash(COMMIT),
    "the call never passed": blocked(FORMAT).bash("cargo fmt"),
    "several things were done, and none was named": blocked("Nope.")
    .bash("make gen")
    .bash("make lint")
    .bash(COMMIT, "[b 1]"),
    "a test that fails now and then": blocked("Tests failed.").bash("pytest").bash(COMMIT, "[b 1]"),
    "the gate was passed by": Run()
    .bash(COMMIT, LINT, code=1)
    .bash(f"{COMMIT} --no-verify", "[b 1] did it"),
    "another message without a rule": Run()
    .bash(COMMIT, NO_TYPE, code=1)
    .bash(COMMIT.replace("did", "done"), "[b 1]"),
    "checks that still run": Run()
    .bash("gh pr checks", "lint\tpending\t0\thttps://ci.test/1", code=8)
    .bash("sleep 60")
    .bash("gh pr checks", "lint\tpass\t9s\thttps://ci.test/1"),
    "a call that a person denied": Run()
    .bash(COMMIT, FORMAT, outcome=CallOutcome.DENIED_BY_USER)
    .bash("cargo fmt")
    .bash(COMMIT, "[b 1]"),
    "another program that no hook names": blocked("Not allowed.", "npm install zod").bash(
        "pnpm add zod", "ok"
    ),
}


@rows("name", TEACH)
def test_what_a_gate_wants_is_told_with_the_command_that_satisfied_it(name: str) -> None:
    run, (title, between) = TEACH[name]
    captured = FailureCaptureStrategy().capture(run.done())[0]
    assert captured.proposal.discovery == title
    assert captured.evidence[0].between == between
    assert captured.kind is LessonKind.GATE


@rows("name", SILENT)
def test_a_gate_of_which_nothing_is_sure_teaches_nothing(name: str) -> None:
    assert list(find_mistakes(SILENT[name].done())) == []


@rows("name", [*TEACH, *SILENT])
def test_no_gate_is_told_as_a_mistake(name: str) -> None:
    run = TEACH[name][0] if name in TEACH else SILENT[name]
    captured = create_capture_strategy(CaptureConfig()).capture(run.done())
    assert not {one.kind for one in captured} & {LessonKind.FAILURE, LessonKind.FILE}


@rows("name", TEACH)
def test_the_words_are_short_and_whole(name: str) -> None:
    proposal = FailureCaptureStrategy().capture(TEACH[name][0].done())[0].proposal
    assert len(proposal.discovery) <= MAX_TITLE
    assert 2 <= len(proposal.name.split("-")) <= 5
    assert all((proposal.condition, proposal.action, proposal.rationale, proposal.check))


def test_each_of_two_gates_is_told_with_what_satisfied_it() -> None:
    run, _ = TEACH["two gates one after the other"]
    wants = [[step.intent for step in gate.setup] for gate in find_mistakes(run.done())]
    assert wants == [["cargo fmt"], ["cargo clippy"]]


def test_the_evidence_reaches_from_the_refusal_to_the_passing() -> None:
    execution = blocked(FORMAT).bash("cargo fmt").bash(COMMIT, "[b 1] did it").done()
    (captured,) = FailureCaptureStrategy().capture(execution)
    (seen,) = captured.evidence
    assert seen.lines == "claude_code:s1#L2-L7"
    assert (seen.failed, seen.resolved_by) == (COMMIT, COMMIT)
    assert seen.error == "[FORMAT] Not formatted — Run 'cargo fmt' to fix."
    assert captured.key == "gate|claude-code|git commit|[format] not formatted|cargo fmt"


def test_the_same_gate_in_another_run_has_the_same_key() -> None:
    def key(session: str, path: str) -> str:
        command = f"git add {path} && git commit -m 'x'"
        run = Run(session).bash(command, FORMAT, outcome=BLOCKED).bash("cargo fmt").bash(command)
        return FailureCaptureStrategy().capture(run.done())[0].key

    assert key("s1", "a.rs") == key("s2", "b.rs")


def test_a_named_command_is_surer_than_the_only_thing_that_was_done() -> None:
    sure = blocked(FORMAT).bash("cargo fmt").bash(COMMIT).done()
    likely = blocked("Not formatted.").bash("cargo fmt").bash(COMMIT).done()
    more, less = (
        FailureCaptureStrategy().capture(run)[0].proposal.confidence for run in (sure, likely)
    )
    assert more > less
