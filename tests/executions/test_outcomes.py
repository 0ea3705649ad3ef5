"""How a command ended: by its exit status, and by its output where something hides that."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.outcomes import output_verdict, step_outcome, went_well
from tests.tables import rows

LOG = "error: no such user\nworker exited with code 1\n"
"""What tests of error handling print while they pass."""


def call(
    command: str, output: str = "", code: int | None = 0, outcome: CallOutcome | None = None
) -> ToolCall:
    ended = CallOutcome.FAILED if code else CallOutcome.OK
    return ToolCall(
        id="1",
        tool="Bash",
        intent="x",
        arguments=command,
        outcome=outcome or ended,
        output=output,
        exit_code=code,
        call_line=1,
    )


@rows(
    ("command", "hidden"),
    [
        ("npm test", [""]),
        ("cd web && npm test", [""]),
        ("npm test 2>&1", [""]),
        ("npm run lint && npm test", ["", ""]),
        ("npm test | tail -5", ["|"]),
        ("set -o pipefail; npm test | tail -5", [""]),
        ("set -euo pipefail\nnpm run lint\nnpm test | tail", ["", ""]),
        ("npm run lint; npm test", [";", ""]),
        ("npm run lint\nnpm test", [";", ""]),
        ("npm test; echo done", [";"]),
        ("npm test;", [""]),
        ("npm run lint && npm test; git status", [";", ";", ""]),
        ("npm test || true", ["||"]),
        ("pytest || python -m pytest", ["||", "||"]),
        ("npm run dev &", ["&"]),
        ("npm run lint &&\nnpm test", ["", ""]),
        ("npm test | tee log && git push", ["|", ""]),
    ],
)
def test_what_hides_the_exit_status_of_a_step(command: str, hidden: list[str]) -> None:
    assert [step.hidden_by for step in command_steps(command)] == hidden


@rows(
    ("command", "intents"),
    [
        ("for f in a b; do pytest $f; done", ["pytest"]),
        ("if [ -f x ]; then npm test; else make; fi", ["[", "npm test", "make"]),
        ("while true; do curl localhost; done", ["curl"]),
        ("(cd web && npm test)", ["npm test"]),
        ("{ npm test; }", ["npm test"]),
        ("# run them all\nnpm test", ["npm test"]),
        ("git commit -m 'Quote `x`\nand more'", ["git commit"]),
        ("! grep -q x a.txt", ["grep"]),
        ("until gh run view 1; do sleep 5; done", ["gh run"]),
    ],
)
def test_words_of_the_shell_are_no_programs(command: str, intents: list[str]) -> None:
    assert [step.intent for step in command_steps(command)] == intents


def test_the_folder_of_a_group_is_that_of_its_commands() -> None:
    (step,) = command_steps("(cd web && npm test -- a.ts)")

    assert (step.directory, step.words) == ("web", ("npm", "test", "--", "a.ts"))


@rows(
    ("command", "code", "output", "went"),
    [
        # An exit status that nothing hides decides, whatever the output says.
        ("bun run test", 0, f"{LOG} 1274 pass\n 0 fail", True),
        ("npm test", 0, "FAILED to connect, as expected\nTraceback (most recent call last)", True),
        ("cargo test", 0, "thread 'x' panicked at src/a.rs\ntest result: ok. 3 passed", True),
        ("cd api && go test ./...", 0, "error: 2 tests failed\nok  \tshop/api\t0.1s", True),
        ("pytest -q", 1, "5 passed", False),
        # Behind a pipe or a semicolon the output tells.
        ("npm test | tail", 0, "ok", True),
        ("npm test | tail", 0, "2 tests failed", False),
        ("pytest; git status", 0, "== 1 failed, 4 passed in 0.2s ==\nclean", False),
        ("bun run test | tail -40", 0, f"{LOG} 12 pass\n 0 fail\nRan 12 tests", True),
        ("npm run check | tail", 0, "src/a.ts(3,1): error TS2304: Cannot find name", False),
        ("pytest; echo $?", 0, "all good\n1", False),
        ("pytest | tail -3; echo exit=${PIPESTATUS[0]}", 0, "== 4 passed ==\nexit=0", True),
        ('npm test | tail; echo "EXIT: $?"', 0, f"{LOG}EXIT: 0", False),
        # What ends well either way went well only where the output says so.
        ("npm test || true", 0, "no output", None),
        ("npm test || true", 0, "Tests: 12 passed, 12 total", True),
        ("npm test || true", 0, "Tests: 1 failed, 11 passed, 12 total", False),
        ("npm run dev &", 0, "ready", None),
        # A failed line tells of its first command, and of one that the output tells of.
        ("pytest && git push", 1, "1 failed", False),
        ("pytest && git push", 1, "===== 5 passed in 1s =====\n! [rejected] main -> main", True),
        ("npm run lint; git psh", 1, "0 errors\ngit: 'psh' is not a git command", True),
        # Where nothing states a status the output tells, too.
        ("npm test", None, "2 tests failed", False),
        ("npm test", None, "fine", True),
    ],
)
def test_how_the_first_command_of_a_line_ended(
    command: str, code: int | None, output: str, went: bool | None
) -> None:
    assert step_outcome(call(command, output, code), command_steps(command)[0]) is went


def test_of_a_failed_line_nothing_is_known_of_a_later_command() -> None:
    command = "git pull && pytest"

    assert step_outcome(call(command, "conflict", 1), command_steps(command)[1]) is None


@rows(
    ("output", "verdict"),
    [
        ("===== 3 failed, 10 passed in 1.20s =====", False),
        ("===== 10 passed, 2 warnings in 1.20s =====", True),
        ("Tests:       12 passed, 12 total\nTime: 2s", True),
        ("Test Files  1 failed | 3 passed (4)\n     Tests  1 failed | 9 passed (10)", False),
        ("Test Files  3 passed (3)\n     Tests  9 passed (9)", True),
        ("  12 passing (2s)\n  1 failing", False),
        (" 1274 pass\n 0 fail\n 4000 expect() calls\nRan 1274 tests across 90 files.", True),
        (" 3 pass\n 1 fail\nRan 4 tests", False),
        ("test result: ok. 5 passed; 0 failed; 0 ignored", True),
        ("test result: FAILED. 4 passed; 1 failed; 0 ignored", False),
        ("12 tests, 0 failures", True),
        ("12 examples, 2 failures", False),
        ("Tests run: 12, Failures: 0, Errors: 0, Skipped: 1", True),
        ("Tests: 12, Assertions: 24, Failures: 1.", False),
        ("Passed!  - Failed:     0, Passed:    12, Skipped: 0, Total: 12", True),
        ("Failed!  - Failed:     2, Passed:    10", False),
        ("Found 3 errors in 2 files (checked 9 source files)", False),
        ("✖ 3 problems (0 errors, 3 warnings)", True),
        ("✖ 3 problems (1 error, 2 warnings)", False),
        ("ok  \tshop/api\t0.012s\nFAIL\tshop/web [build failed]", False),
        ("BUILD FAILED in 3s", False),
        ("make: *** [Makefile:3: check] Error 1", False),
        ("Tests Passed: 9, Failed: 1, Skipped: 0", False),
        ("Tests Passed: 9, Failed: 0, Skipped: 0", True),
        ("12 passed\nnpm error code ELIFECYCLE", False),
        ("error: boom\n\n 9 pass\n 0 fail", True),
        ("On branch main", None),
        ("", None),
    ],
)
def test_what_an_output_says_of_how_it_ended(output: str, verdict: bool | None) -> None:
    assert output_verdict(output) is verdict


@rows(
    ("output", "well"),
    [
        ("No tests found, exiting with code 0", None),
        ("collected 0 items", None),
        ("Ran 0 tests in 0.000s", None),
        ("No test files found, exiting with code 0", None),
        ("testing: warning: no tests to run\nok  tide  0.2s [no tests to run]", None),
        ("packages/a: No tests found\npackages/b: 12 passed", True),
        ("12 passed", True),
        ("?  tide/cmd [no test files]\nok  tide/tide 0.012s", True),
    ],
)
def test_a_run_of_nothing_passed_nothing(output: str, well: bool | None) -> None:
    one = call("npm test", output)
    assert step_outcome(one, command_steps(one.arguments)[0]) is well


@rows(
    ("command", "output", "well"),
    [
        ("npm test | tail", "1 failed", False),
        ("npm test", "1 failed", True),
        ("cat errors.log | head", "error: x\n3 failed", True),
        ("git log | head", "FAILED the first time", True),
        ("npm test | tail", "12 passed", True),
        ("npm run dev", "Command running in background with ID: b1", False),
    ],
)
def test_a_call_went_well(command: str, output: str, well: bool) -> None:
    assert went_well(call(command, output)) is well


@rows(
    "outcome",
    [CallOutcome.FAILED, CallOutcome.DENIED_BY_USER, CallOutcome.UNKNOWN],
)
def test_what_did_not_end_well_by_its_record_did_not(outcome: CallOutcome) -> None:
    assert not went_well(call("npm test", "12 passed", outcome=outcome))
