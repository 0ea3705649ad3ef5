"""Pictures of the app as SVG files, which a test compares with the accepted ones."""

import asyncio
import inspect
import pickle
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from pytest_textual_snapshot import (  # type: ignore[import-untyped]
    PseudoApp,
    PseudoConsole,
    SVGImageExtension,
    node_to_report_path,
)
from rich.console import Console
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.tui_helpers import settle

Size: TypeAlias = tuple[int, int] | tuple[tuple[int, int], ...]
"""Columns and rows of a terminal, or of several that one app is shown in, one after the other."""
Compare: TypeAlias = Callable[..., bool]
Before: TypeAlias = Callable[[Pilot[None]], Awaitable[None]]
SIZES: Size = ((80, 24), (120, 40))
EACH_SIZE = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
"""An app for each size: toasts leave and blocks are wrapped otherwise where one is resized."""


class Pictures:
    """Takes an app's pictures and compares each with the accepted one of the test."""

    def __init__(self, snapshot: SnapshotAssertion, node: Any) -> None:
        self._snapshot = snapshot.use_extension(SVGImageExtension)
        self._node = node

    def __call__(self, app: MemoryDeskApp, *, terminal_size: Size, run_before: Before) -> bool:
        """Say whether the app looks as accepted; what doesn't is shown in snapshot_report.html.

        The app is started in the first size, led to where ``run_before`` goes and resized from
        there, so the pictures of two sizes cost one start.
        """
        sizes = [each for each in terminal_size if isinstance(each, tuple)]
        taken = asyncio.run(_take(app, sizes or [terminal_size], run_before))
        names: list[str | None] = [f"{width}x{height}" for width, height in sizes] or [None]
        accepted = [self._is_accepted(*each) for each in zip(taken, names, strict=True)]
        return all(accepted)

    def _is_accepted(self, picture: str, name: str | None) -> bool:
        snapshot = self._snapshot if name is None else self._snapshot(name=name)
        if snapshot == picture:
            return True
        self._report(snapshot, picture, name)
        return False

    def _report(self, snapshot: SnapshotAssertion, picture: str, name: str | None) -> None:
        console = Console(legacy_windows=False, force_terminal=True)
        path, line, title = self._node.reportinfo()
        told = (
            False,
            str(snapshot),
            picture,
            PseudoApp(PseudoConsole(console.legacy_windows, console.size)),
            path,
            line,
            f"{title} {name or ''}".strip(),
            inspect.getdoc(self._node.function) or "",
            "",
            True,
        )
        file = node_to_report_path(self._node)
        file.with_name(f"{file.name}_{name}").write_bytes(pickle.dumps(told))


async def _take(app: MemoryDeskApp, sizes: list[Any], before: Before) -> list[str]:
    taken = list[str]()
    async with app.run_test(size=sizes[0]) as pilot:
        await before(pilot)
        held = sum(each.is_running for each in app.workers)
        for size in sizes:
            if taken:
                await pilot.resize_terminal(*size)
            await settle(pilot, held=held)
            taken.append(app.export_screenshot(title=app.title, simplify=True))
    return taken


@pytest.fixture
def snap_compare(snapshot: SnapshotAssertion, request: pytest.FixtureRequest) -> Pictures:
    """Return what compares an app's pictures."""
    return Pictures(snapshot, request.node)
