"""Which failures teach something: the tables are the specification."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.recoveries import MAX_BETWEEN
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.mistakes import find_mistakes
from tests.learning.lesson_kit import Run
from tests.tables import rows

NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."
IGNORED = "The following paths are ignored by one of your .gitignore files:\ndist\nhint: Use -f."
EXTERNAL = "error: externally-managed-environment"

CHANGED = {
    "a flag and a name": (
        ("git push", NO_UPSTREAM),
        ("git push -u origin retry-fetch", "ok"),
        "run `git push -u origin <branch>` instead",
    ),
    "a flag left out": (
        (
            "pytest --slow tests/",
            "usage: pytest [options]\npytest: error: unrecognized arguments: --slow",
        ),
        ("pytest tests/", "5 passed"),
        "run `pytest` without `--slow`",
    ),
    "a path left out": (
        ("git add a.py dist/app.js", IGNORED),
        ("git add a.py", ""),
        "run `git add` without `dist/app.js`",
    ),
    "a runner": (
        ("pytest tests/a.py", "E   ModuleNotFoundError: No module named 'httpx'"),
        ("uv run pytest tests/a.py", "3 passed"),
        "run `uv run pytest <path>` instead",
    ),
    "a variable": (
        ("mix ecto.migrate", "** (RuntimeError) environment variable DATABASE_URL is missing."),
        ("MIX_ENV=test mix ecto.migrate", "ok"),
        "run `MIX_ENV=test mix ecto.migrate` instead",
    ),
    "a folder": (
        ("npm test", "npm ERR! enoent Could not read package.json: no such file or directory"),
        ("cd frontend && npm test", "ok"),
        "run `npm test` in `frontend`",
    ),
    "another program": (
        ("docker-compose up -d db", "bash: docker-compose: command not found"),
        ("docker compose up -d db", "Started"),
        "run `docker compose up -d db` instead",
    ),
    "the program of an environment": (
        ("pip install requests", EXTERNAL),
        (".venv/bin/pip install requests", "ok"),
        "run `.venv/bin/pip install requests` instead",
    ),
}

PREPARED = {
    "packages": (
        ("npm run build", "> vite build\nsh: 1: vite: not found"),
        "npm install",
        "run `npm install`, then run `npm run build` again",
    ),
    "a package": (
        ("uv run pytest", "E  ModuleNotFoundError: No module named 'dateutil'"),
        "uv add python-dateutil",
        "run `uv add python-dateutil`, then run `pytest` again",
    ),
    "what others pushed": (
        ("git push", "! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
        "git pull --rebase",
        "run `git pull --rebase`, then run `git push` again",
    ),
    "a clean tree": (
        ("git rebase main", "error: cannot rebase: You have unstaged changes."),
        "git stash",
        "run `git stash`, then run `git rebase` again",
    ),
    "a service": (
        (
            "pytest tests/db",
            "E  OperationalError: connection to port 5432 failed: Connection refused",
        ),
        "docker compose up -d postgres",
        "run `docker compose up -d postgres`, then run `pytest` again",
    ),
    "a permission": (
        ("./run.sh 1.2", "bash: ./run.sh: Permission denied"),
        "chmod +x run.sh",
        "run `chmod +x run.sh`, then run `./run.sh` again",
    ),
    "a login": (
        ("gh pr create --fill", "To get started with GitHub CLI, please run:  gh auth login"),
        "gh auth login",
        "run `gh auth login`, then run `gh pr create` again",
    ),
}


def taught(run: Run) -> list[str]:
    execution = run.done()
    return [mistake_lesson(execution, found).proposal.action for found in find_mistakes(execution)]


@rows("name", CHANGED)
def test_a_call_put_right_by_another_call_teaches_what_was_different(name: str) -> None:
    (failed, error), (worked, output), remedy = CHANGED[name]
    run = Run().bash(failed, error, code=1).bash(worked, output)
    (said,) = taught(run)
    assert said.startswith(f"{remedy[0].upper()}{remedy[1:]}.")


@rows("name", PREPARED)
def test_a_step_that_had_to_come_first_is_taught(name: str) -> None:
    (failed, error), first, remedy = PREPARED[name]
    run = Run().bash(failed, error, code=1).look().bash(first, "ok").bash(failed, "ok")
    (said,) = taught(run)
    assert said.startswith(f"{remedy[0].upper()}{remedy[1:]}.")


NOT_FOUND = "zsh:1: command not found: node"
SPAWN = "exec: node: not found"
WORDED = {
    "the call that passed and not a try that failed": (
        Run()
        .bash("node --run check", NOT_FOUND, code=127)
        .bash("/opt/node/bin/node --run check", SPAWN, code=1)
        .bash("env PATH=/opt/node/bin:$PATH /opt/node/bin/node --run check", "ok"),
        'Run `env "PATH=/opt/node/bin:$PATH" /opt/node/bin/node --run check` instead.',
    ),
    "the call that passed after what came first": (
        Run()
        .bash("git push origin x", "git@x.test: Permission denied (publickey).", code=128)
        .bash("gh auth setup-git", "")
        .bash("git push https://x.test/a.git x", "ok"),
        "Run `gh auth setup-git`, then run `git push <url> x`.",
    ),
    "the option that was refused": (
        Run()
        .bash("tide eval a.yml --filter x", "error: Unknown arguments: --filter, required", code=1)
        .bash("tide eval a.yml --case x", "ok"),
        "Run `tide eval <path> --case x` instead, without `--filter`.",
    ),
    "a name that somebody made up": (
        Run()
        .bash("mux send fix-low-tides -P a.md", "error: unexpected argument '-P' found", code=2)
        .bash("mux send fix-low-tides --file a.md", "ok"),
        "Run `mux send <name> --file <path>` instead, without `-P`.",
    ),
    "what was built was stale": (
        Run()
        .bash("bun test cli/a.test.ts", "error: expect(received).toContain(expected)", code=1)
        .bash("bun run build", "ok")
        .bash("bun test cli/a.test.ts", "3 pass"),
        "Run `bun run build`, then run `bun test cli/a.test.ts` again.",
    ),
}


@rows("name", WORDED)
def test_the_action_is_what_worked(name: str) -> None:
    run, action = WORDED[name]
    (said,) = taught(run)
    assert said.startswith(action)


WORK = {
    "code changed until its tests pass": Run()
    .bash("pytest tests/a.py", "E  AssertionError: assert 1 == 2\n1 failed", code=1)
    .edit("src/a.py")
    .bash("pytest tests/a.py", "1 passed"),
    "code changed for a refused call": Run()
    .bash("git merge dev", "CONFLICT (content): Merge conflict in a.py", code=1)
    .edit("a.py")
    .bash("git add a.py && git merge --continue", "ok"),
    "a check that mends by itself": Run()
    .bash("ruff check src", "F401 [*] `os` imported but unused\nFound 1 error.", code=1)
    .bash("ruff check --fix src", "All checks passed"),
    "a test that fails now and then": Run()
    .bash("pytest tests/a.py", "1 failed", code=1)
    .bash("pytest tests/a.py", "1 passed"),
    "fewer tests": Run()
    .bash("pytest tests", "FAILED tests/b.py\n1 failed, 3 passed", code=1)
    .bash("pytest tests -k a", "1 passed"),
    "code written on the command line": Run()
    .bash("python -c 'import a; a.b()'", "AttributeError: no attribute 'b'", code=1)
    .bash("python -c 'import a; a.c()'", "x"),
    "a name that isn't there": Run()
    .bash("git add src/foo.py", "fatal: pathspec 'src/foo.py' did not match any files", code=128)
    .bash("git add src/bar.py", ""),
    "another address": Run()
    .bash("curl -f https://a.test/x", "curl: (22) The requested URL returned error: 404", code=22)
    .bash("curl -f https://a.test/y", "ok"),
    "another message": Run()
    .bash("git commit -m 'did it'", "subject may not be empty", code=1)
    .bash("git commit -m 'feat: did it'", "ok"),
    "code changed and a package added": Run()
    .bash("pytest", "E  NameError: name 'x' is not defined", code=1)
    .edit("src/a.py")
    .bash("pip install foo")
    .bash("pytest", "ok"),
    "an error that says nothing": Run().bash("make", "", code=2).bash("make -j1", "ok"),
    "a wholly different call": Run()
    .bash("docker run img a b c d", "docker: permission denied", code=1)
    .bash("docker run --rm -p 80:80 -v x:y other e f g h", "ok"),
}


@rows("name", WORK)
def test_ordinary_work_teaches_nothing(name: str) -> None:
    assert taught(WORK[name]) == []


@rows(
    "outcome",
    [
        CallOutcome.DENIED_BY_USER,
        CallOutcome.CANCELLED_WITH_SIBLING,
        CallOutcome.UNKNOWN,
    ],
)
def test_what_did_not_fail_teaches_nothing(outcome: CallOutcome) -> None:
    run = Run().bash("git push", NO_UPSTREAM, outcome=outcome)
    assert taught(run.bash("git push -u origin retry-fetch", "ok")) == []


@rows(("between", "lessons"), [(MAX_BETWEEN, 1), (MAX_BETWEEN + 1, 0)])
def test_an_answer_may_come_only_so_much_later(between: int, lessons: int) -> None:
    run = Run().bash("git push", NO_UPSTREAM, code=128)
    for _ in range(between):
        run.look()
    assert len(taught(run.bash("git push -u origin retry-fetch", "ok"))) == lessons


def test_the_same_failure_twice_before_its_answer_is_one_lesson() -> None:
    run = Run().bash("git push", NO_UPSTREAM, code=128).bash("git push", NO_UPSTREAM, code=128)
    assert len(taught(run.bash("git push -u origin retry-fetch", "ok"))) == 1


def test_the_step_that_the_error_speaks_of_is_the_one_that_failed() -> None:
    error = IGNORED.replace("dist", "build")
    run = Run().bash(
        "git add a.py && git add build/b.py c.py && git commit -m 'x y'", error, code=1
    )
    run.bash("git add a.py && git add c.py && git commit -m 'x y'", "[main abc1234] x y")
    (found,) = find_mistakes(run.done())
    assert found.step.words == ("git", "add", "build/b.py", "c.py")
    assert found.worked.words == ("git", "add", "c.py")


def test_a_way_round_gives_way_to_the_change_that_mended_the_cause() -> None:
    run = Run().bash("npm test", "Error: NODE_OPTIONS is missing, --x required", code=1)
    run.bash("NODE_OPTIONS=--x npm test", "ok")
    assert len(taught(run)) == 1
    assert taught(run.edit("package.json").bash("npm test", "ok")) == []
