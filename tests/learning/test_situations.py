"""Names and titles: errors of common tools, and what a person would call and do about them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import has_hidden
from synthorg_tui.curation.models import ProceduralMemoryProposal
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.lessons import MAX_TITLE, fit_title
from synthorg_tui.learning.mistakes import find_mistakes
from synthorg_tui.learning.situations import program_words, situation_of
from synthorg_tui.skills.names import is_name, skill_name
from tests.learning.lesson_kit import BRANCH, Run
from tests.tables import rows

ANSWERED = {
    "git push, no upstream": (
        ("git push", f"fatal: The current branch {BRANCH} has no upstream branch."),
        f"git push --set-upstream origin {BRANCH}",
        "git-push-no-upstream",
        "Run `git push` with `--set-upstream origin <branch>`",
    ),
    "git pull, divergent": (
        ("git pull", "fatal: Need to specify how to reconcile divergent branches."),
        "git pull --rebase",
        "git-pull-divergent-branches",
        "Run `git pull` with `--rebase`",
    ),
    "git add, ignored": (
        (
            "git add a.py dist/app.js",
            "The following paths are ignored by one of your .gitignore files:\ndist",
        ),
        "git add a.py",
        "git-add-ignored-paths",
        "Leave `dist/app.js` out of `git add`",
    ),
    "git add, symlink": (
        ("git add a.py lib/x.py", "fatal: pathspec 'lib/x.py' is beyond a symbolic link"),
        "git add a.py",
        "git-add-beyond-symlink",
        "Leave `lib/x.py` out of `git add`",
    ),
    "git merge, unrelated": (
        (
            "git merge vendor",
            "fatal: refusing to merge unrelated histories; try --allow-unrelated-histories",
        ),
        "git merge --allow-unrelated-histories vendor",
        "git-merge-unrelated-histories",
        "Run `git merge` with `--allow-unrelated-histories`",
    ),
    "npm install, peers": (
        (
            "npm install",
            "npm error ERESOLVE unable to resolve dependency tree\nor --legacy-peer-deps",
        ),
        "npm install --legacy-peer-deps",
        "npm-install-peer-conflict",
        "Run `npm install` with `--legacy-peer-deps`",
    ),
    "npm, no package.json": (
        ("npm test", "npm ERR! enoent Could not read package.json: no such file or directory"),
        "cd frontend && npm test",
        "npm-test-no-package-json",
        "Run `npm test` in `frontend`",
    ),
    "pip, externally managed": (
        ("pip install requests", "error: externally-managed-environment"),
        ".venv/bin/pip install requests",
        "pip-install-externally-managed",
        "Use `.venv/bin/pip` instead of `pip`",
    ),
    "pytest, module": (
        ("pytest tests/a.py", "E   ModuleNotFoundError: No module named 'httpx'"),
        "uv run pytest tests/a.py",
        "pytest-missing-httpx",
        "Run `pytest` through `uv run`",
    ),
    "pytest, option": (
        ("pytest --slow", "pytest: error: unrecognized arguments: --slow"),
        "pytest",
        "pytest-unrecognized-arguments-slow",
        "Leave `--slow` out of `pytest`",
    ),
    "docker-compose": (
        ("docker-compose up -d db", "bash: docker-compose: command not found"),
        "docker compose up -d db",
        "docker-compose-command-not-found",
        "Use `docker compose` instead of `docker-compose`",
    ),
    "python": (
        ("python a.py", "bash: line 1: python: command not found"),
        "python3 a.py",
        "python-command-not-found",
        "Use `python3` instead of `python`",
    ),
    "docker exec, no terminal": (
        ("docker compose exec db psql", "the input device is not a TTY"),
        "docker compose exec -T db psql",
        "docker-compose-exec-no-terminal",
        "Run `docker compose exec` with `-T`",
    ),
    "cargo, folder": (
        ("cargo build", "error: could not find `Cargo.toml` in `/srv/x` or any parent directory"),
        "cd crates/core && cargo build",
        "cargo-build-outside-package",
        "Run `cargo build` in `crates/core`",
    ),
    "cargo, locked": (
        (
            "cargo build --locked",
            "error: the lock file Cargo.lock needs to be updated but --locked was passed",
        ),
        "cargo build",
        "cargo-build-outdated-lockfile",
        "Leave `--locked` out of `cargo build`",
    ),
    "go, folder": (
        ("go build ./...", "go: go.mod file not found in current directory; cannot find module"),
        "cd server && go build ./...",
        "go-build-outside-module",
        "Run `go build` in `server`",
    ),
    "gh, terminal": (
        (
            "gh pr create",
            "must provide `--title` and `--body` when not running interactively",
        ),
        "gh pr create --fill",
        "gh-pr-create-non-interactive",
        "Run `gh pr create` with `--fill`",
    ),
    "mix, environment": (
        ("mix ecto.migrate", "** (RuntimeError) environment variable DATABASE_URL is missing."),
        "MIX_ENV=test mix ecto.migrate",
        "mix-ecto-migrate-missing-database",
        "Set `MIX_ENV=test` for `mix ecto.migrate`",
    ),
    "vitest, sandbox": (
        ("vitest run", "Error: listen EPERM: operation not permitted 127.0.0.1:3000"),
        "require_escalated vitest run",
        "vitest-listen-eperm-operation",
        "Run `vitest` outside of the sandbox (`require_escalated`)",
    ),
    "apt, rights": (
        ("apt-get install jq", "E: Could not open lock file - open (13: Permission denied)"),
        "sudo apt-get install jq",
        "apt-get-install-permission-denied",
        "Run `apt-get install` through `sudo`",
    ),
}
PREPARED = {
    "git push, remote ahead": (
        ("git push", "! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
        "git pull --rebase",
        "git-push-remote-ahead",
        "Run `git pull --rebase` before `git push`",
    ),
    "git rebase, changes": (
        ("git rebase main", "error: cannot rebase: You have unstaged changes."),
        "git stash",
        "git-rebase-uncommitted-changes",
        "Run `git stash` before `git rebase`",
    ),
    "git commit, identity": (
        (
            "git commit -m 'a b'",
            "*** Please tell me who you are.\nRun\n  git config --global user.email x",
        ),
        "git config --global user.email me@example.test",
        "git-commit-no-identity",
        "Run `git config` before `git commit`",
    ),
    "npm, not installed": (
        ("npm run build", "> vite build\nsh: 1: vite: not found"),
        "npm install",
        "npm-run-build-missing-vite",
        "Run `npm install` before `npm run build`",
    ),
    "npm ci, lock file": (
        (
            "npm ci",
            "npm error requires package.json and package-lock.json in sync: `npm install`",
        ),
        "npm install",
        "npm-ci-outdated-lockfile",
        "Run `npm install` before `npm ci`",
    ),
    "docker, login": (
        ("docker push x/y", "unauthorized: authentication required"),
        "docker login",
        "docker-push-not-logged-in",
        "Run `docker login` before `docker push`",
    ),
    "gh, login": (
        ("gh pr create --fill", "To get started with GitHub CLI, please run:  gh auth login"),
        "gh auth login",
        "gh-not-logged-in",
        "Run `gh auth login` before `gh pr create`",
    ),
    "go, sum": (
        ("go vet ./...", "a.go:1:2: missing go.sum entry for module providing package x, required"),
        "go mod tidy",
        "go-vet-missing-sum-entry",
        "Run `go mod tidy` before `go vet`",
    ),
    "mix, dependencies": (
        ("mix test", "** (Mix) Can't continue due to errors on dependencies, unable to compile"),
        "mix deps.get",
        "mix-dependencies-not-fetched",
        "Run `mix deps.get` before `mix test`",
    ),
    "terraform": (
        ("terraform plan", 'Error: Inconsistent lock file, please run "terraform init"'),
        "terraform init",
        "terraform-not-initialised",
        "Run `terraform init` before `terraform plan`",
    ),
    "a script of the project": (
        ("python manage.py test orders", "relation orders_order does not exist"),
        "python manage.py migrate",
        "python-test-relation-not-exist",
        "Run `python manage.py migrate` before `python manage.py test`",
    ),
    "a script without rights": (
        ("./scripts/deploy.sh 1.2", "bash: ./scripts/deploy.sh: Permission denied"),
        "chmod +x scripts/deploy.sh",
        "script-permission-denied",
        "Run `chmod +x scripts/deploy.sh` before `./scripts/deploy.sh`",
    ),
}


def lesson_of(run: Run) -> ProceduralMemoryProposal:
    execution = run.done()
    (found,) = find_mistakes(execution)
    return mistake_lesson(execution, found).proposal


@rows("name", ANSWERED)
def test_an_error_that_another_call_answers_has_a_name_and_a_title(name: str) -> None:
    (failed, error), worked, called, title = ANSWERED[name]
    proposal = lesson_of(Run().bash(failed, error, code=1).bash(worked, "ok"))
    assert (proposal.name, proposal.discovery) == (called, title)


@rows("name", PREPARED)
def test_an_error_that_something_before_it_answers_has_a_name_and_a_title(name: str) -> None:
    (failed, error), first, called, title = PREPARED[name]
    run = Run().bash(failed, error, code=1).bash(first, "ok").bash(failed, "ok")
    proposal = lesson_of(run)
    assert (proposal.name, proposal.discovery) == (called, title)


def test_another_run_gives_the_same_name() -> None:
    def name(branch: str) -> str:
        error = f"fatal: cannot lock ref 'refs/heads/{branch}': unable to resolve reference"
        run = Run(branch=branch).bash(f"git fetch origin {branch}", error, code=1)
        return lesson_of(run.bash(f"git fetch --prune origin {branch}", "ok")).name

    assert name("fix/tides-2") == name("retry-fetch") == "git-fetch-lock-ref-resolve"


def test_a_command_too_long_for_a_title_is_left_out_whole() -> None:
    long = f"kubectl apply --server-side --field-manager={'x' * 60}"
    run = Run().bash("kubectl apply", "error: must specify one of -f and -k", code=1)
    assert lesson_of(run.bash(long, "ok")).discovery == "Run `kubectl apply` with other arguments"


@rows(
    ("program", "words"),
    [
        ("git push", ("git", "push")),
        ("gh pr create", ("gh", "pr", "create")),
        ("./gradlew", ("gradlew",)),
        (".venv/bin/pip", ("pip",)),
        ("./deploy/staging.sh", ("script",)),
        ("", ("command",)),
        ("日本", ("command",)),
    ],
)
def test_a_program_is_named_without_its_path(program: str, words: tuple[str, ...]) -> None:
    assert program_words(program) == words


PARTS = st.sampled_from(
    (
        *(
            "git push",
            "npm run build",
            "./x/y.sh",
            "feature/zz-9",
            "'a b'",
            "`x`",
            "\u202e",
            "/etc/a",
        ),
        *("no", "not found", "--slow", "missing", "requires", "C:\\a", "\n", "\U0001f600", ""),
    )
)
TEXTS = st.one_of(st.lists(PARTS, max_size=6).map(" ".join), st.text(max_size=40))


@given(TEXTS, TEXTS)
def test_any_situation_has_a_name_of_two_to_five_words(program: str, error: str) -> None:
    name = situation_of(program, error).name
    assert is_name(name)
    assert 2 <= len(name.split("-")) <= 5
    assert name == situation_of(program, error).name
    assert not re.search(r"etc|zz", name)


@given(TEXTS, TEXTS, TEXTS)
def test_any_mistake_has_a_title_on_a_line_with_whole_commands(
    word: str, error: str, fix: str
) -> None:
    run = Run().bash(f"git push {word}", f"fatal: rejected {error}", code=1)
    execution = run.bash(f"git push {fix}", error).done()
    for found in find_mistakes(execution):
        proposal = mistake_lesson(execution, found).proposal
        title = proposal.discovery
        assert 0 < len(title) <= MAX_TITLE
        assert "\n" not in title
        assert not has_hidden(title)
        assert title.count("`") % 2 == 0
        assert proposal.name.startswith("git-push-")


def test_a_name_that_is_taken_gets_a_telling_word_and_at_last_a_number() -> None:
    taken = {"git-push-rejected"}
    text = "git push is rejected by a hook in <path> and src/hooks"
    assert skill_name("git-push-rejected", taken, text) == "git-push-rejected-hook"
    taken.add("git-push-rejected-hook")
    assert skill_name("git-push-rejected", taken, text) == "git-push-rejected-2"
    assert skill_name("git-push-rejected", {"git-push-rejected"}) == "git-push-rejected-2"
    full = "mix-test-missing-lazy-html"
    assert skill_name(full, {full}, text) == f"{full}-2"


@rows(
    ("text", "title"),
    [
        ("Run `a b` before `c`", "Run `a b` before `c`"),
        (f"Run `git push --{'x' * 60}` first", "Run `git push` first"),
        ("x" * 70, "x" * 70),
        ("word " * 15, ("word " * 13).strip()),
        ("Run `a b", "Run a b"),
    ],
)
def test_a_title_is_made_to_fit_without_cutting_a_command(text: str, title: str) -> None:
    assert fit_title(text) == title
