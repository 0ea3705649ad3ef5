from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.executions.commands import call_intent, command_steps, related
from tests.tables import rows


@rows(
    ("command", "intent"),
    [
        ("git push", "git push"),
        ("git push -u origin main 2>&1", "git push"),
        ("git -C /repo push", "git push"),
        ("cd /repo && git push", "git push"),
        ("FOO=1 BAR='x y' git push", "git push"),
        ("env FOO=1 sudo git push", "git push"),
        ("export A=1; git push", "git push"),
        ("git add . && git commit -m 'a && b'", "git commit"),
        ("mix test 2>&1 | tail -5", "mix test"),
        ("MIX_ENV=test mix ecto.migrate", "mix ecto.migrate"),
        ("timeout 60 make test > log.txt", "make test"),
        ("uv run pytest tests/a.py -q", "pytest"),
        ("python -m pytest tests/a.py", "pytest"),
        ("python3 -m pip install x", "pip install"),
        ("python build.py --fast", "python build.py"),
        ("/usr/bin/python3 tools/build.py", "python3 build.py"),
        ("npx eslint src", "eslint"),
        ("npm run build", "npm run"),
        ("ls -la /tmp", "ls"),
        ("grep -rn foo src | head", "grep"),
        ("cat <<'EOF' | git commit -F -\ngit push\nEOF", "cat"),
        ("git commit -m \"$(cat <<'EOF'\nfix: cd && git push\nEOF\n)\"", "git commit"),
        ("make", "make"),
        ("./gradlew test", "gradlew test"),
        ("echo 'unbalanced", "bash"),
        ("", "bash"),
    ],
)
def test_a_command_is_its_program_and_subcommand(command: str, intent: str) -> None:
    assert call_intent("Bash", {"command": command}, command) == intent


@rows(
    ("tool", "arguments", "intent"),
    [
        ("Edit", {"file_path": "/a/b.py"}, "edit /a/b.py"),
        ("Write", {"file_path": "/a/b.py", "content": "x"}, "write /a/b.py"),
        ("apply_patch", {"path": "a.py", "input": "x"}, "edit a.py"),
        ("WebFetch", {"url": "https://x.example"}, "webfetch https://x.example"),
        ("mcp__db__query", {"sql": "select"}, "mcp__db__query"),
    ],
)
def test_other_tools_are_their_kind_and_file(
    tool: str, arguments: dict[str, Any], intent: str
) -> None:
    assert call_intent(tool, arguments) == intent


@rows(
    ("failed", "later", "expected"),
    [
        ("git push", "git push --set-upstream origin x", True),
        ("mix test a_test.exs", "mix test a_test.exs", True),
        ("mix test a_test.exs", "mix test", True),
        ("mix test", "mix test a_test.exs", True),
        ("mix test a_test.exs", "mix test b_test.exs", False),
        ("mix credo lib/a.ex lib/b.ex", "mix compile && mix credo lib/a.ex", True),
        ("git add a.py && git commit -m x", "git add b.py && git commit -m x", True),
        ("git push", "git pull", False),
        ("make test", "make lint", False),
        ("cd x", "cd x", False),
        ("vitest web/src/a.test.ts", "cd web && vitest src/a.test.ts", True),
        ("vitest web/src/a.test.ts", "cd api && vitest src/a.test.ts", False),
    ],
)
def test_a_later_command_is_related_by_goal_and_files(
    failed: str, later: str, expected: bool
) -> None:
    assert related(command_steps(failed), command_steps(later)) is expected


@given(st.text(max_size=200))
def test_no_command_is_too_strange(command: str) -> None:
    command_steps(command)


def test_a_step_keeps_its_words_and_what_stood_around_it() -> None:
    (step,) = command_steps("cd web && export A=1; CI=1 uv run pytest -q 'a b' 2>&1 | tail -3")
    assert step.words == ("pytest", "-q", "a b")
    assert step.lead == ("A=1", "CI=1", "uv", "run")
    assert step.directory == "web"
