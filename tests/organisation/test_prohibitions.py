"""What "never" rules forbid, and which calls surely did it: nobody is accused on a guess."""

from typing import Any

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.organisation.prohibitions import bans_of, breaches_of
from tests.tables import rows

PUSH = "Never push to main."


def session(*calls: ToolCall, project: str = "/work/demo") -> Execution:
    return Execution(
        id="claude-code:s",
        reader="claude-code",
        session_id="s",
        agent_id="claude-code",
        project=project,
        calls=calls,
    )


def shell(command: str, outcome: CallOutcome = CallOutcome.OK, **fields: Any) -> ToolCall:
    said = {"id": "c1", "tool": "Bash", "intent": "x", "call_line": 7, "result_line": 8} | fields
    return ToolCall(arguments=command, outcome=outcome, **said)


def edit(path: str, outcome: CallOutcome = CallOutcome.OK) -> ToolCall:
    fields = {"intent": f"edit {path}", "arguments": "{}", "call_line": 3, "result_line": 4}
    return ToolCall(id="e1", tool="Edit", outcome=outcome, **fields)


def broken(rule: str, command: str, outcome: CallOutcome = CallOutcome.OK) -> bool:
    return bool(breaches_of(bans_of(rule), session(shell(command, outcome))))


COMMIT = """git commit -m "$(cat <<'EOF'
Fix it (mostly :)

It's "done"
EOF
)" && git push origin main"""


@rows(
    "command",
    [
        "git push origin main",
        "git push -u origin main",
        "git push origin HEAD:main",
        "git push origin feature:main",
        "git push origin +main",
        "git push origin refs/heads/main",
        "git push origin HEAD:refs/heads/main",
        "git push --force origin main",
        "git push origin main --tags",
        "git push origin :main",
        "git push --delete origin main",
        "git push origin dev main",
        "git push -o ci.skip origin main",
        "git push -- origin main",
        "cd app && git push origin main",
        "git add -A && git commit -m 'Fix' && git push origin main",
        "git status; git push origin main",
        "git status\ngit push origin main",
        "git -C app push origin main",
        "git -c user.name=x --no-pager push origin main",
        "git push \"origin\" 'main'",
        "git push origin ma'in'",
        "git push \\\n  origin main",
        "sudo git push origin main",
        "GIT_TRACE=1 git push origin main",
        "env A=1 timeout 60 git push origin main",
        "/usr/bin/git push origin main",
        "git push origin main 2>&1 | tail -5",
        "git push origin main > log.txt 2>&1",
        "git push origin main || echo failed",
        "git push origin main &",
        "# to the server\ngit push origin main # now",
        "echo done; git push origin main",
        "echo $(date) && git push origin main",
        "cat <<EOF > note.txt\nsome text\nEOF\ngit push origin main",
        COMMIT,
    ],
)
def test_a_push_to_main_is_one(command: str) -> None:
    assert broken(PUSH, command)


@rows(
    "command",
    [
        'echo "git push origin main"',
        "echo git push origin main",
        "printf 'git push origin main\\n'",
        "echo 'a\ngit push origin main\n'",
        "# git push origin main",
        "ls # git push origin main",
        "ls # then; git push origin main",
        "ls # it's && git push origin main",
        "cat <<EOF\ngit push origin main\nEOF",
        "cat > run.sh <<'EOF'\nset -e\ngit push origin main\nEOF",
        "cat <<-EOF\n\tgit push origin main\n\tEOF",
        "cat <<A <<B\ngit push origin main\nA\ngit push origin main\nB",
        "cat <<EOF\ngit push origin main",
        'git commit -m "git push origin main"',
        'git commit -m "x && git push origin main"',
        "git commit -m \"$(cat <<'EOF'\ngit push origin main\nEOF\n)\"",
        "grep -r 'git push origin main' .",
        "gh pr create --body 'run `git push origin main`'",
        "ssh host 'git push origin main'",
        "ssh host git push origin main",
        "git config alias.p 'push origin main'",
        "alias git=echo; git push origin main",
        "git push --dry-run origin main",
        "git push -n origin main",
        "git push -fn origin main",
        "git push --help origin main",
        "git push origin main-fix",
        "git push origin fix-main",
        "git push origin feature/main",
        "git push origin maintenance",
        "git push origin main:feature",
        "git push origin refs/tags/main",
        "git push origin tag main",
        "git push origin 'feature main'",
        "git push origin Main",
        "git push main",
        "git push",
        "git push origin",
        "git push origin HEAD",
        "git push origin --all",
        "git push --repo main origin",
        "git push -o main origin dev",
        "git push origin $BRANCH",
        "git push origin ${B:-main}",
        "git push origin $(git branch --show-current)",
        "git push origin ma*n",
        "git pull origin main",
        "git fetch origin main",
        "git checkout main",
        "git log origin/main..main",
        "git stash push main",
        "git subtree push --prefix x origin main",
        "git push_all origin main",
        "gitpush origin main",
        "if true; then git push origin main; fi",
        "if false; then\n  git push origin main\nfi",
        "for b in main; do git push origin main; done",
        "while false; do git push origin main; done",
        "f() { git push origin main; }",
        "f() {\n  git push origin main\n}",
        "function f {\n  git push origin main\n}",
        "case x in y) git push origin main;; esac",
        "make test || git push origin main",
        "make test && make lint || git push origin main",
        "make test && git push origin main; true",
        "make test && git push origin main || true",
        "[[ -f x ]] && git push origin main; true",
        "exit 0; git push origin main",
        "exit 0\ngit push origin main",
        "exec zsh; git push origin main",
        'echo "unbalanced; git push origin main',
        "sh -n <<EOF\ngit push origin main\nEOF",
        "xargs -n1 git push origin < main",
        "command -v git push origin main",
        "",
    ],
)
def test_what_only_looks_like_a_push_to_main_is_none(command: str) -> None:
    assert not broken(PUSH, command)


@rows(
    ("command", "outcome", "is_one"),
    [
        ("git push origin main", CallOutcome.FAILED, True),
        ("git push origin main && make deploy", CallOutcome.FAILED, True),
        ("make test; git push origin main", CallOutcome.FAILED, True),
        ("make test && git push origin main", CallOutcome.FAILED, False),
        ("set -e\nmake test\ngit push origin main", CallOutcome.FAILED, False),
        ("set -euo pipefail; make test; git push origin main", CallOutcome.OK, True),
        ("make test && git push origin main", CallOutcome.UNKNOWN, False),
        ("git push origin main", CallOutcome.UNKNOWN, True),
        ("git push origin main", CallOutcome.DENIED_BY_USER, False),
        ("git push origin main", CallOutcome.BLOCKED_BY_HOOK, False),
        ("git push origin main", CallOutcome.CANCELLED_WITH_SIBLING, False),
    ],
)
def test_only_what_surely_ran_counts(command: str, outcome: CallOutcome, is_one: bool) -> None:
    assert broken(PUSH, command, outcome) is is_one


@rows(
    ("command", "outcome", "ended"),
    [
        ("git push origin main", CallOutcome.OK, "it worked"),
        ("git push origin main", CallOutcome.FAILED, "it failed"),
        ("git status && git push origin main", CallOutcome.OK, "it worked"),
        ("git push origin main | tail -1", CallOutcome.OK, "how it ended isn't known"),
        ("git push origin main; ls", CallOutcome.OK, "how it ended isn't known"),
        ("git push origin main; ls x", CallOutcome.FAILED, "how it ended isn't known"),
        ("git push origin main", CallOutcome.UNKNOWN, "how it ended isn't known"),
    ],
)
def test_how_it_ended_is_said_as_far_as_it_is_known(
    command: str, outcome: CallOutcome, ended: str
) -> None:
    (breach,) = breaches_of(bans_of(PUSH), session(shell(command, outcome)))
    assert (breach.ended, breach.line, breach.did) == (ended, 7, "git push origin main")


@rows(
    ("command", "is_one"),
    [
        ("cd /work/demo && git push origin main", True),
        ("cd /work/demo/app && git push origin main", True),
        ("cd app && cd .. && git push origin main", True),
        ("git -C /work/demo push origin main", True),
        ("cd /tmp/try && git push origin main", False),
        ("cd /work/demo-two && git push origin main", False),
        ("cd .. && git push origin main", False),
        ("cd app/../../x && git push origin main", False),
        ("cd && git push origin main", False),
        ("cd ~/x && git push origin main", False),
        ("cd $REPO && git push origin main", False),
        ("cd - && git push origin main", False),
        ("pushd /tmp/x; git push origin main", False),
        ("test -d x || cd /tmp; git push origin main", False),
        ("git -C /tmp/try push origin main", False),
        ("git -C $REPO push origin main", False),
        ("git --git-dir=/tmp/x/.git push origin main", False),
        ("cd app && git -C .. push origin main", True),
        ("cd app && git -C ../.. push origin main", False),
    ],
)
def test_only_what_was_done_in_the_project_counts(command: str, is_one: bool) -> None:
    assert broken(PUSH, command) is is_one


def test_the_repository_of_a_worktree_is_the_project_too() -> None:
    call = shell("cd /work/demo && git push origin main")
    inside = session(call, project="/work/demo/.worktrees/fix")
    assert breaches_of(bans_of(PUSH), inside)
    assert not breaches_of(bans_of(PUSH), session(call, project="/work/other"))


def test_a_call_without_its_result_is_no_evidence() -> None:
    assert not breaches_of(bans_of(PUSH), session(shell("git push origin main", result_line=None)))


def test_a_run_that_its_agent_told_of_itself_is_no_evidence() -> None:
    told = session(shell("git push origin main")).model_copy(update={"reported": True})
    assert not breaches_of(bans_of(PUSH), told)


@rows(
    "rule",
    [
        "Never push to main",
        "never push to `main`!",
        "Do not push to main.",
        "Don't push to origin/main.",
        "Don\u2019t ever push directly to main.",
        "Agents must not push to the main branch.",
        "You must never push to main or master.",
        "- **Never** push straight to `main`.",
        "Never commit or push to main directly.",
        "Never run `git push origin main`.",
        "Never `git push origin main`",
        "IMPORTANT: never push to main.",
        "Never push to main; open a pull request instead.",
        "Never push to main, always use a branch.",
        "Never push to main: it is protected.",
        "Never push to main. Open a pull request and ask for a review.",
        "Work on a branch. Never push to main.",
    ],
)
def test_rules_against_a_push_to_main_are_understood(rule: str) -> None:
    assert broken(rule, "git push origin main")
    assert not broken(rule, "git push origin feature")


@rows(
    "rule",
    [
        "Always push to main.",
        "Push to main.",
        "Never push to main without a review.",
        "Never push to main unless CI is green.",
        "Never push to main on Fridays.",
        "Never push to main before the tests pass.",
        "Never push to main. Exception: hotfixes.",
        "Never push to main. Releases may be pushed to main.",
        "Never push to main, except for typos.",
        "If CI is red, never push to main.",
        "On Fridays: never push to main.",
        "Is it right to never push to main?",
        "You can push to main.",
        "Never forget to push to main.",
        "Never stop pushing to main.",
        "Never not push to main.",
        "Never push secrets to main.",
        "Never ask before you push to main.",
        "Avoid pushing to main.",
        "It is not true that agents never push to main.",
        "Never push to the default branch.",
        "Never push to origin.",
        "Never push to main and then leave.",
        "Never run `git push origin <branch>`.",
        "Never run `git push origin ...`.",
        "We never push to main by accident.",
        "Always run the tests before committing.",
        "",
    ],
)
def test_rules_that_say_something_else_or_have_conditions_are_left_alone(rule: str) -> None:
    assert not broken(rule, "git push origin main")


@rows(
    ("rule", "breaking", "keeping"),
    [
        (
            "Never force push.",
            [
                "git push --force",
                "git push -f origin x",
                "git push -uf origin x",
                "git push origin +x",
            ],
            [
                "git push",
                "git push --force-with-lease",
                "git push origin x",
                "git add -f x",
                "git push --no-force",
                "git push -n --force",
                "git commit -m --force",
            ],
        ),
        (
            "Do not force-push to main.",
            [
                "git push --force origin main",
                "git push origin +main",
                "git push -f origin HEAD:main",
            ],
            ["git push -f origin x", "git push origin main", "git push origin +x main"],
        ),
        (
            "Never use `--no-verify`.",
            ["git commit --no-verify -m x", "git push --no-verify", "git commit -am x --no-verify"],
            [
                "git commit -m --no-verify",
                "echo --no-verify",
                "grep -- --no-verify x",
                "git commit -m 'no --no-verify'",
                "git log --grep --no-verify",
            ],
        ),
        (
            "Never use npm; use pnpm.",
            ["npm install", "cd web && npm ci", "sudo npm i -g x"],
            ["pnpm install", "npx x", "echo npm", "which npm", "cat npm", "npmx"],
        ),
        (
            "Do not run `npm install`.",
            ["npm install", "npm install left-pad --save"],
            ["npm run install", "npm ci", "npm --prefix install test", "npm install --dry-run"],
        ),
        (
            "Never use `rm -rf`.",
            ["rm -rf build", "rm -fr build", "rm -r -f build", "rm -rfv x"],
            ["rm -r build", "rm -f x", "rm build", "echo rm -rf x", "git rm -rf x"],
        ),
        (
            "Never use sudo.",
            ["sudo apt install x", "ls && sudo -n true", "sudo -u postgres psql"],
            ["echo sudo", "apt install sudo", "man sudo"],
        ),
        (
            "You must never run `terraform apply` or `terraform destroy`.",
            ["terraform apply", "terraform destroy -auto-approve", "terraform -chdir=x apply"],
            ["terraform plan", "terraform apply --help", "terraform plan apply"],
        ),
    ],
)
def test_other_commands_that_are_forbidden(
    rule: str, breaking: list[str], keeping: list[str]
) -> None:
    assert [one for one in breaking if not broken(rule, one)] == []
    assert [one for one in keeping if broken(rule, one)] == []


@rows(
    "rule",
    [
        "Never use `any`.",
        "Never use `eval`.",
        "Never use tabs.",
        "Never use `print` for logs.",
        "Never use `test` as a name.",
        "Never use npm to publish.",
        "Never use `export`.",
        "Never use `find`: it is slow.",
    ],
)
def test_what_may_be_no_command_is_left_alone(rule: str) -> None:
    for command in ('eval "$(x)"', "tabs", "test -f x", "export A=1", "npm install", "find ."):
        assert not broken(rule, command)


@rows(
    ("rule", "path", "is_one"),
    [
        ("Never edit files in `vendor/`.", "/work/demo/vendor/a.go", True),
        ("Never edit files in `vendor/`.", "/work/demo/app/vendor/a.go", False),
        ("Never edit files in `vendor/`.", "/work/other/vendor/a.go", False),
        ("Never edit `package-lock.json` by hand.", "/work/demo/package-lock.json", True),
        ("Never edit `package-lock.json` by hand.", "/work/demo/package.json", False),
        ("Don't modify `src/gen/*.py`.", "/work/demo/src/gen/a.py", True),
        ("Don't modify `src/gen/*.py`.", "/work/demo/src/gen/a.txt", False),
        ("Never edit `vendor/` without asking.", "/work/demo/vendor/a.go", False),
        ("Do not edit `LOG.md` manually; it is made by a tool.", "/work/demo/LOG.md", True),
        ("Do not manually modify `api/**` (they are generated).", "/work/demo/api/a.md", True),
        ("*Never* edit `src/**/gen_*.py`.", "/work/demo/src/a/gen_b.py", True),
        ("Don't edit `LOG.md`: it may be stale.", "/work/demo/LOG.md", False),
        ("Don't edit `LOG.md`; it is fine when asked.", "/work/demo/LOG.md", False),
    ],
)
def test_files_that_must_not_be_edited(rule: str, path: str, is_one: bool) -> None:
    assert bool(breaches_of(bans_of(rule), session(edit(path)))) is is_one
    assert not breaches_of(bans_of(rule), session(edit(path, CallOutcome.FAILED)))


def test_tools_that_must_not_be_used() -> None:
    fields = {"intent": "webfetch x", "arguments": "{}", "call_line": 5, "result_line": 6}
    call = ToolCall(id="w", tool="WebFetch", outcome=CallOutcome.OK, **fields)
    (breach,) = breaches_of(bans_of("Never use the `WebFetch` tool."), session(call))
    assert (breach.line, breach.did) == (5, "WebFetch")
    assert not breaches_of(bans_of("Never use the `WebSearch` tool."), session(call))


@rows("command", ["git push origin main " * 5_000, "(" * 9_000, "$(" * 5_000, '"$(' * 5_000])
def test_odd_commands_end(command: str) -> None:
    broken(PUSH, command)
