"""Pictures of the Models screen; each docstring says what must be visible."""

import asyncio

from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from tests.tui.models.model_fakes import FakeModels, ModelManagement, report
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle


def compare(
    snap_compare: Compare, size: Size, models: FakeModels, *keys: str, theme: str = ""
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("f12", *keys):
            await pilot.press(key)
            await settle(pilot, held=int(models.held is not None and key == "r"))

    app = fake_app(FakeDesk(rows(6)), management=ModelManagement(models))
    if theme:
        app.theme = theme
    app.set_reactive(type(app).app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_models_before_anything_was_tried(snap_compare: Compare) -> None:
    """The active embedder, that nothing was tried yet, what trying does, and the two keys."""
    assert compare(snap_compare, SIZES, FakeModels())


def test_models_being_tried(snap_compare: Compare) -> None:
    """How far it is, and which embedder is asked what; the key that stops it."""
    models = FakeModels()
    models.held = asyncio.Event()
    assert compare(snap_compare, SIZES, models, "r")


def test_models_side_by_side(snap_compare: Compare) -> None:
    """A row each with its figures and their spread, the gain on the active one, one that doesn't
    work with its reason. Below: what was asked, what to do, and the figures by kind."""
    assert compare(snap_compare, SIZES, FakeModels(tried=report()), "down")


def test_models_that_cannot_be_tried(snap_compare: Compare) -> None:
    """The cause and what to do, in place of the figures."""
    models = FakeModels()
    models.error = DomainError("The store is damaged.", remedy="F4 examines it.")
    assert compare(snap_compare, SIZES, models, "r")


def test_light_models(snap_compare: Compare) -> None:
    """The same as dark on light, the second set of questions in view."""
    assert compare(snap_compare, (120, 40), FakeModels(tried=report()), "v", theme="desk-light")
