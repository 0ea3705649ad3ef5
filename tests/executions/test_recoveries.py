"""Which later success answers a failure: only one that wants the same."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.recoveries import find_recoveries
from tests.learning.lesson_kit import Run
from tests.tables import rows

SAME = {
    "the same command": ("make db", "connection refused", "make db"),
    "an option put in": ("git push", "no upstream branch", "git push -u origin tides"),
    "an option left out": ("bd dolt status --short", "unknown flag: --short", "bd dolt status"),
    "one of several paths left out": ("git add a.py dist", "dist is ignored", "git add a.py"),
    "the field that the error names": (
        "gh pr view 15 --json title,baseRefOid",
        'Unknown JSON field: "baseRefOid"',
        "gh pr view 15 --json title,baseRefName",
    ),
    "a name that was misspelt": (
        "git rebase origin/mian",
        "fatal: invalid upstream 'origin/mian'",
        "git rebase origin/main",
    ),
    "another message": (
        "git commit -m 'did it'",
        "subject may not be empty",
        "git commit -m 'x y'",
    ),
    "through a runner": ("pytest tests/a.py", "No module named httpx", "uv run pytest tests/a.py"),
    "by its full path": ("docker ps", "docker: command not found", "/opt/docker/bin/docker ps"),
    "without a wrapper that doesn't know it": (
        "wrap pnpm run test",
        "error: unrecognized subcommand 'pnpm'",
        "pnpm run test",
    ),
    "through another program": (
        "vitest run a.test.ts",
        "zsh: command not found: vitest",
        "pnpm exec vitest run a.test.ts",
    ),
    "one file of those": ("pytest tests/a.py tests/b.py", "usage: pytest", "pytest tests/a.py"),
    "code that was mended": (
        "node -e \"console.log(JSON.parse(read('a.json')).tides)\"",
        "SyntaxError: Unexpected end of JSON input",
        "node -e \"console.log(JSON.parse(read('b.json')).tides)\"",
    ),
}
OTHER = {
    "help": ("wmux send a -P p.md", "unexpected argument '-P' found", "wmux send --help"),
    "a short option for help": ("wmux send a -P p", "unexpected argument '-P'", "wmux send -h"),
    "a version": ("corepack pnpm run check", "lockfile failed policy", "corepack pnpm --version"),
    "the way out of a rebase": ("git rebase main", "could not apply ad0c095", "git rebase --abort"),
    "a skipped commit": ("git cherry-pick ad0c095", "is now empty", "git cherry-pick --skip"),
    "force": ("git push", "rejected (fetch first)", "git push --force-with-lease"),
    "force in short": ("git add dist", "paths are ignored; use -f", "git add -f dist"),
    "hooks passed by": ("git commit -m 'a b'", "lint failed", "git commit --no-verify -m 'a b'"),
    "a reset": ("git merge dev", "CONFLICT in a.py", "git merge --abort"),
    "another pull request": (
        "gh pr view 12 --json a,b --repo o/r",
        'Unknown JSON field: "b"',
        "gh pr diff 15 --name-only",
    ),
    "another verb for the same pull request": (
        "gh pr edit 12 --repo o/r --body 'x y'",
        "GraphQL: Projects (classic) is being deprecated",
        "gh pr checks 12 --repo o/r",
    ),
    "another script of the same runner": (
        "corepack pnpm run format:check",
        "format:check failed",
        "corepack pnpm run typecheck",
    ),
    "another object": (
        "git cat-file -p ad0c0951",
        "fatal: Not a valid object name ad0c0951",
        "git cat-file -p HEAD:KNOWN.md",
    ),
    "another task of a runner": ("mise run lint:full", "lint:full failed", "mise run fmt"),
    "another search": ("rg -c tides src/a src/b", "No such file src/b", "rg -n rain lib"),
    "another script": ("npm run build", "vite: not found", "npm run lint"),
    "other code": (
        "node -e \"console.log(require('tides').height)\"",
        "Cannot find module 'tides'",
        "node -e \"fs.readdirSync('node_modules')\"",
    ),
    "the folder beside it": ("cd api && make", "missing config", "cd web && make"),
    "another address": ("curl -f https://a.test/x", "error: 404", "curl -f https://b.test/tides"),
}


def answered(failed: str, output: str, later: str) -> bool:
    run = Run().bash(failed, output, code=1).bash(later, "done")
    return len(run.done().recoveries) == 1


@rows("name", SAME)
def test_a_later_success_that_wants_the_same_answers_a_failure(name: str) -> None:
    assert answered(*SAME[name])


@rows("name", OTHER)
def test_a_later_success_that_wants_something_else_answers_nothing(name: str) -> None:
    assert not answered(*OTHER[name])


def test_what_help_showed_is_answered_by_the_call_after_it() -> None:
    run = Run().bash("wmux send a -P p.md", "unexpected argument '-P' found", code=2)
    run.bash("wmux send --help", "-f, --file <FILE>").bash("wmux send a --file p.md", "sent")
    calls = run.done().calls
    (recovery,) = find_recoveries(calls)
    assert (recovery.resolved_by, recovery.between) == (calls[2].id, (calls[1].id,))


@rows("command", ["rg tides src", "git diff --no-index a b", "jq .a b.json", "sed -n 1p a"])
def test_a_command_that_only_looks_is_no_failure_to_recover_from(command: str) -> None:
    calls: tuple[ToolCall, ...] = Run().bash(command, "", code=1).bash(command, "x").done().calls
    assert calls[0].outcome is CallOutcome.FAILED
    assert find_recoveries(calls) == ()
