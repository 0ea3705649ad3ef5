"""Scripts of Codex that call tools: each call is one, with what it printed."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.ingest.readers.codex_scripts import MAX_CALLS, script_calls, script_results
from tests.tables import rows

PATCH = "*** Begin Patch\\n*** Update File: src/a.ts\\n+b\\n*** End Patch"
HEAD = "Script completed\nWall time 0.1 seconds\nOutput:\n"


def printed(*texts: str, head: str = HEAD) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": text} for text in (head, *texts)]


def ran(output: str, code: int) -> str:
    return json.dumps({"chunk_id": "a1", "exit_code": code, "output": output})


@rows(
    ("script", "calls"),
    [
        (
            'const r = await tools.exec_command({"cmd":"ls -la","workdir":"/srv/shop"}); text(r)',
            [("exec_command", {"cmd": "ls -la", "workdir": "/srv/shop"})],
        ),
        (
            'const r = await tools.exec_command({cmd: "rg \\"a b\\"", yield_time_ms: 100});',
            [("exec_command", {"cmd": 'rg "a b"'})],
        ),
        (
            "await tools.exec_command({cmd: `git diff\\n--stat`})",
            [("exec_command", {"cmd": "git diff\n--stat"})],
        ),
        (
            "const cmd = 'npm test';\nawait tools.exec_command({cmd, workdir: '/srv'})",
            [("exec_command", {"workdir": "/srv", "cmd": "npm test"})],
        ),
        (
            f'const patch = "{PATCH}";\nconst r = await tools.apply_patch(patch); text(r)',
            [("apply_patch", {"input": PATCH.replace("\\n", "\n")})],
        ),
        (
            f'text(await tools.apply_patch("{PATCH}"))',
            [("apply_patch", {"input": PATCH.replace("\\n", "\n")})],
        ),
        (
            'const [a, b] = await Promise.all([tools.exec_command({"cmd":"ls"}),'
            ' tools["exec_command"]({cmd: "pwd"})])',
            [("exec_command", {"cmd": "ls"}), ("exec_command", {"cmd": "pwd"})],
        ),
        ("await tools.exec_command({cmd: build(name)})", [("exec_command", {})]),
        ("await tools.apply_patch(patches[0])", [("apply_patch", {})]),
        ("text(1 + 1)", []),
        ("", []),
    ],
)
def test_the_calls_of_a_script(script: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert script_calls(script) == calls


@rows(
    ("output", "calls", "results"),
    [
        (printed("clean"), 1, [("clean", None)]),
        (printed(ran("boom", 2)), 1, [("boom", 2)]),
        (printed("a", "b"), 2, [("a", None), ("b", None)]),
        (printed(ran("a", 0), ran("b", 1)), 2, [("a", 0), ("b", 1)]),
        (printed(f"[{ran('a', 0)}, {ran('b', 1)}]"), 2, [("a", 0), ("b", 1)]),
        (printed("a", "b", "c"), 2, [("a\nb\nc", None), ("", None)]),
        (printed("{}"), 1, [("{}", None)]),
        ("Script completed\nOutput:\nclean", 1, [("clean", None)]),
        (
            printed("TypeError: x", head="Script failed\nWall time 0.1 seconds\nOutput:\n"),
            1,
            [("Script failed\nTypeError: x", None)],
        ),
        (
            printed(head="Script running with cell ID 3\nWall time 9 seconds\nOutput:\n"),
            1,
            [("Script running with cell ID 3\n", None)],
        ),
        ("", 1, [("", None)]),
    ],
)
def test_what_each_call_printed(
    output: object, calls: int, results: list[tuple[str, int | None]]
) -> None:
    assert script_results(output, calls) == results


@given(st.text(max_size=300))
def test_no_script_is_too_strange(text: str) -> None:
    assert len(script_calls(f"tools.exec_command({{cmd: {text}")) <= MAX_CALLS
    script_results([{"text": text}], 2)


def test_a_script_of_very_many_calls_is_bounded() -> None:
    assert len(script_calls('tools.exec_command({"cmd": "ls"});' * 1000)) == MAX_CALLS
