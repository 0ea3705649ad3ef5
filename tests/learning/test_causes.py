"""What made the difference, in typical sessions of agents: told as what it was, or not at all."""

from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.mistakes import Mistake, RootCause, find_mistakes
from tests.learning.lesson_kit import PROJECT, Run
from tests.tables import rows


def then(command: str, error: str, *later: str, output: str = "ok") -> Run:
    """A command that failed, and commands that worked; the last is its answer."""
    run = Run().bash(command, error, code=1)
    for one in later:
        run.bash(one, output)
    return run


NO_MODULE = "E   ModuleNotFoundError: No module named 'httpx'"
NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."
REJECTED = "! [rejected] main -> main (fetch first)\nerror: failed to push some refs"
NO_MANIFEST = "npm ERR! enoent Could not read package.json: no such file or directory"
DAEMON = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?"

TEACH = {
    # Python
    "a virtual environment entered": (
        then("pytest tests", NO_MODULE, "source .venv/bin/activate && pytest tests"),
        RootCause.ENVIRONMENT,
        "source .venv/bin/activate",
    ),
    "the program of a virtual environment": (
        then("python -m pytest", NO_MODULE, ".venv/bin/python -m pytest"),
        RootCause.ENVIRONMENT,
        "",
    ),
    "a runner": (then("pytest -x", NO_MODULE, "uv run pytest -x"), RootCause.ENVIRONMENT, ""),
    "a variable": (
        then(
            "python manage.py check",
            "ImproperlyConfigured: DJANGO_SETTINGS_MODULE is missing",
            "DJANGO_SETTINGS_MODULE=app.dev python manage.py check",
        ),
        RootCause.ENVIRONMENT,
        "",
    ),
    "a package installed, other things done too": (
        then("pytest", NO_MODULE, "git status", "pip install httpx", "pytest"),
        RootCause.ORDER,
        "pip install httpx",
    ),
    "a database migrated": (
        then(
            "python manage.py loaddata tides",
            'django.db.utils.OperationalError: no such table: tides_tide\nrelation "x" missing',
            "python manage.py migrate",
            "python manage.py loaddata tides",
        ),
        RootCause.ORDER,
        "python manage.py migrate",
    ),
    # Node
    "another folder": (
        then("npm test", NO_MANIFEST, "cd web && npm test"),
        RootCause.DIRECTORY,
        "web",
    ),
    "another folder, by a call of its own": (
        then("npm test", NO_MANIFEST, "cd web", "npm test"),
        RootCause.DIRECTORY,
        "web",
    ),
    "another folder, by an option": (
        then("npm run build", NO_MANIFEST, "npm --prefix web run build"),
        RootCause.DIRECTORY,
        "",
    ),
    "a path as seen from its own folder": (
        then(
            "npx vitest run web/src/a.test.ts",
            "Error: Cannot find package 'vitest'",
            "cd web && npx vitest run src/a.test.ts",
        ),
        RootCause.DIRECTORY,
        "web",
    ),
    "the project's own folder": (
        then(
            "cd web && npx turbo build",
            "Error: Could not find turbo.json",
            f"cd {PROJECT} && npx turbo build",
        ),
        RootCause.DIRECTORY,
        ".",
    ),
    "packages": (
        then("npm run build", "sh: 1: vite: not found", "npm ci", "npm run build"),
        RootCause.ORDER,
        "npm ci",
    ),
    "a browser that the message names": (
        then(
            "npx playwright test",
            "Error: Executable doesn't exist. Please run: npx playwright install",
            "npx playwright install",
            "npx playwright test",
        ),
        RootCause.ORDER,
        "playwright install",
    ),
    # Rust and Go
    "a toolchain's target": (
        then(
            "cargo build --target wasm32-unknown-unknown",
            "error: the wasm32 target may not be installed",
            "rustup target add wasm32-unknown-unknown",
            "cargo build --target wasm32-unknown-unknown",
        ),
        RootCause.ORDER,
        "rustup target add wasm32-unknown-unknown",
    ),
    "an option that isn't known": (
        then(
            "cargo nextest run --color-fast",
            "error: unexpected argument '--color-fast' found",
            "cargo nextest run",
        ),
        RootCause.OPTION,
        "--color-fast",
    ),
    "modules of go": (
        then(
            "go run ./cmd/tides",
            "missing go.sum entry for module providing package; to add it: go mod download",
            "go mod download",
            "go run ./cmd/tides",
        ),
        RootCause.ORDER,
        "go mod download",
    ),
    # Containers, services
    "a newer toolchain": (
        then(
            "cargo build",
            "error: package requires rustc 1.80 or newer",
            "rustup update",
            "cargo build",
        ),
        RootCause.ORDER,
        "rustup update",
    ),
    "a file named by an option": (
        then(
            "docker build -t a .",
            "ERROR: failed to read dockerfile: open Dockerfile: no such file or directory",
            "docker build -t a -f docker/Dockerfile .",
        ),
        RootCause.CALL,
        "",
    ),
    "files that weren't staged": (
        then(
            "git commit -m 'a b'",
            'On branch x\nno changes added to commit (use "git add")',
            "git add -A && git commit -m 'a b'",
        ),
        RootCause.ORDER,
        "git add -A",
    ),
    "a database made": (
        then(
            "psql tides -c 'select 1'",
            'psql: error: FATAL: database "tides" does not exist',
            "createdb tides",
            "psql tides -c 'select 1'",
        ),
        RootCause.ORDER,
        "createdb tides",
    ),
    "a login that ran out": (
        then(
            "kubectl get pods",
            "error: You must be logged in to the server (Unauthorized)",
            "aws eks update-kubeconfig --name dev",
            "kubectl get pods",
        ),
        RootCause.ORDER,
        "aws eks update-kubeconfig --name dev",
    ),
    "a service started": (
        then(
            "psql -h localhost tides",
            "psql: error: connection to server failed: Connection refused",
            "docker compose up -d db",
            "psql -h localhost tides",
        ),
        RootCause.ORDER,
        "docker compose up -d db",
    ),
    "a daemon started": (
        then("docker build .", DAEMON, "sudo systemctl start docker", "docker build ."),
        RootCause.ORDER,
        "systemctl start docker",
    ),
    "a program that took another's place": (
        then("docker-compose ps", "bash: docker-compose: command not found", "docker compose ps"),
        RootCause.PROGRAM,
        "",
    ),
    "a folder made first": (
        then(
            "curl -o out/a.json https://a.test/x",
            "curl: (23) Failure writing: No such file or directory",
            "mkdir -p out",
            "curl -o out/a.json https://a.test/x",
        ),
        RootCause.ORDER,
        "mkdir -p out",
    ),
    # git and gh
    "a branch pushed before its pull request": (
        then(
            "gh pr create --fill",
            "aborted: you must first push the current branch to a remote",
            "git push -u origin retry-fetch",
            "gh pr create --fill",
        ),
        RootCause.ORDER,
        "git push -u origin retry-fetch",
    ),
    "what others pushed": (
        then("git push", REJECTED, "git pull --rebase", "git push"),
        RootCause.ORDER,
        "git pull --rebase",
    ),
    "ignored paths": (
        then(
            "git add src/a.py dist/a.js",
            "The following paths are ignored by one of your .gitignore files:\ndist",
            "git add src/a.py",
        ),
        RootCause.OPTION,
        "dist/a.js",
    ),
    "what the message says": (
        then(
            "gh run list --repo",
            "flag needs an argument: --repo\nuse --limit 5 and no repo inside one",
            "gh run list --limit 5",
        ),
        RootCause.NAMED,
        "",
    ),
    "what was lacking": (then("git push", NO_UPSTREAM, "git push -u origin b"), RootCause.CALL, ""),
}

SILENT = {
    "a path written otherwise, with no reason in sight": then(
        "go test app/internal/tides/...",
        "no required module provides it",
        "go test internal/tides/...",
    ),
    "a folder and words changed together": then(
        "npm test -- --run a", NO_MANIFEST, "cd web && npm test -- --watch b"
    ),
    "force, which nothing asked for": then("git push", REJECTED, "git push --force"),
    "hooks passed by": then(
        "git push", "error: hooks are required, --no-verify is not allowed", "git push --no-verify"
    ),
    "a guard switched off": then(
        "pip install x", "error: externally-managed-environment", "pip install x --ignore-installed"
    ),
    "more rights against another error": then(
        "npm install", "npm ERR! code E404 not found", "sudo npm install"
    ),
    "work in between that has nothing to do with it": then(
        "npm run build", "sh: 1: vite: not found", "git commit -am wip", "npm run build"
    ),
    "a file changed by the shell": then(
        "mix compile",
        "** (Mix) Could not find tides",
        "sed -i s/tides/tide/ mix.exs",
        "mix compile",
    ),
    "options left out that the error doesn't name": then(
        "docker build --pull .", DAEMON, "docker build ."
    ),
    "two folders that are built one after the other": then(
        "cd api && make", "error: connection timed out", "cd web && make"
    ),
    "two packages of which only one has the script": then(
        "cd packages/core && pnpm build",
        "ERR_PNPM  Missing script: build",
        "cd packages/web && pnpm build",
    ),
    "more patience": then("make seed", "Command timed out after 120s", "timeout 900 make seed"),
    "nothing was done and it worked again": then("docker build .", DAEMON, "docker build ."),
    "another folder left behind": then("cd web && npm test", "npm ERR! must wait", "npm test"),
    "a test mended in code": Run()
    .bash("go test ./...", "--- FAIL: TestTides (0.00s)\nFAIL", code=1)
    .edit("tides.go")
    .bash("go test ./...", "ok"),
    "an error of types, and packages installed as well": Run()
    .bash("tsc --noEmit", "a.ts(1,2): error TS2339: Property 'x' does not exist", code=2)
    .bash("npm install")
    .bash("tsc --noEmit", "ok"),
    "a setting changed that the error doesn't name": Run()
    .bash("mix test", "** (RuntimeError) no :secret_key_base configuration found", code=1)
    .edit("config/test.exs", "a", "config :logger, level: :warning")
    .bash("mix test", "ok"),
    "a line added that the error doesn't ask for": Run()
    .bash("cargo build", "error: linker `cc` not found", code=1)
    .edit("Cargo.toml", "a", 'serde = "1"')
    .bash("cargo build", "ok"),
    "a search that found nothing": then(
        "grep -rn tides src", "grep: no match", "grep -rn tide src"
    ),
}


def told(run: Run) -> list[Mistake]:
    return list(find_mistakes(run.done()))


@rows("name", TEACH)
def test_the_cause_is_told_as_what_it_was(name: str) -> None:
    run, cause, holds = TEACH[name]
    (mistake,) = told(run)
    change = mistake.change
    words = (
        *(" ".join(step.words) for step in mistake.setup),
        *change.dropped,
        change.directory,
    )
    assert mistake.cause is cause
    assert not holds or holds in words


@rows("name", SILENT)
def test_where_no_cause_is_plain_nothing_is_told(name: str) -> None:
    assert told(SILENT[name]) == []


def test_only_what_belongs_to_the_error_had_to_come_first() -> None:
    run = then("pytest", NO_MODULE, "git commit -am wip", "uv sync", "mkdir -p out", "pytest")
    (mistake,) = told(run)
    assert [step.intent for step in mistake.setup] == ["uv sync"]


def test_words_that_changed_beside_what_was_done_first_are_not_the_cause() -> None:
    run = then(
        "gh pr create -t a", "please run: gh auth login", "gh auth login", "gh pr create -t b"
    )
    (mistake,) = told(run)
    assert not mistake.change.in_words


class TestSeveralFailures:
    def test_the_first_is_told_with_the_answer_and_all_tries(self) -> None:
        run = Run().bash("git push", NO_UPSTREAM, code=128)
        run.bash("git push origin", "fatal: invalid refspec, must be a name", code=128)
        (mistake,) = told(run.bash("git push -u origin retry-fetch", "ok"))
        assert mistake.step.words == ("git", "push")
        assert mistake.worked.words == ("git", "push", "-u", "origin", "retry-fetch")
        assert [call.arguments for call in mistake.attempts] == ["git push origin"]
        (seen,) = mistake_lesson(run.done(), mistake).evidence
        assert seen.lines == "claude_code:s1#L2-L7"
        assert seen.error.endswith(" — also failed: git push origin")

    def test_the_same_error_again_is_a_try_not_a_lesson(self) -> None:
        run = Run().bash("npm run build", "sh: vite: not found", code=1)
        run.bash("npm run build --verbose", "sh: vite: not found", code=1)
        (mistake,) = told(run.bash("npm install").bash("npm run build", "ok"))
        assert [step.intent for step in mistake.setup] == ["npm install"]
        assert len(mistake.attempts) == 1

    def test_a_failure_in_between_with_its_own_answer_is_told_too(self) -> None:
        run = Run().bash("git push", NO_UPSTREAM, code=128)
        run.bash("git push -u origin retry-fetch", REJECTED, code=1)
        run.bash("git pull --rebase").bash("git push -u origin retry-fetch", "ok")
        first, second = told(run)
        assert (first.cause, second.cause) == (RootCause.CALL, RootCause.ORDER)
        assert first.setup == ()

    def test_what_was_done_before_a_try_that_failed_alike_did_not_help(self) -> None:
        run = Run().bash("docker build .", DAEMON, code=1).bash("docker start registry")
        run.bash("docker build .", DAEMON, code=1).bash("systemctl start docker")
        (mistake,) = told(run.bash("docker build .", "ok"))
        assert [step.intent for step in mistake.setup] == ["systemctl start"]

    def test_code_changed_after_another_failure_leaves_the_first_untold(self) -> None:
        run = Run().bash("cargo run -p tides", "error: missing option --port", code=2)
        run.bash("cargo run -p tide", "error: tests failed", code=1).edit("src/main.rs")
        assert told(run.bash("cargo run -p tides -q", "ok")) == []
