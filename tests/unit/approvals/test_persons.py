"""Only the screen and the controlling terminal say that somebody is a person."""

import ast
from pathlib import Path

import synthorg_tui

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
