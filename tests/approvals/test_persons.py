"""Only the screen and the controlling terminal say that somebody is a person."""

import ast
from pathlib import Path

import synthorg_tui
from synthorg_tui.host import calls as served

PACKAGE = Path(synthorg_tui.__file__).parent
MAKERS = {"cli/terminal.py", "tui/"}


def calls(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and name in (getattr(node.func, "id", None), getattr(node.func, "attr", None))
        for node in ast.walk(tree)
    )


def test_nobody_else_makes_a_person() -> None:
    makers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if calls(ast.parse(path.read_text(encoding="utf-8")), "Person")
    }
    assert [maker for maker in makers if not maker.startswith(tuple(MAKERS))] == []


def test_no_call_from_another_process_takes_a_person_or_changes_a_proposal() -> None:
    parts = ("reviews.", "approvals.")
    found = [call for call in served.CALLS.values() if call.name.startswith(parts)]
    assert found
    assert [call.name for call in found if call.changes or "person" in call.parameters] == []
