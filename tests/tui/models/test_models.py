"""What the keys of the Models screen do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.evaluation.contenders import EmbedderNameError
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.tui.models.adapter import ModelDesk
from synthorg_tui.tui.models.lines import plain_report
from synthorg_tui.tui.models.screen import ModelsScreen
from tests.tui.models.model_fakes import FILE, FakeModels, ModelManagement, report
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine


@asynccontextmanager
async def shown(models: FakeModels) -> AsyncIterator[Pilot[None]]:
    app = fake_app(FakeDesk(rows(3)), management=ModelManagement(models))
    async with app.run_test(size=(110, 34)) as pilot:
        await settle(pilot)
        await pilot.press("f12")
        await settle(pilot)
        assert isinstance(app.screen, ModelsScreen)
        yield pilot


async def test_trying_shows_the_figures_and_the_advice() -> None:
    models = FakeModels()
    async with shown(models) as pilot:
        await pilot.press("r")
        await settle(pilot)
        assert models.runs == 1
        text = screen_text(pilot.app)
    assert ".748" in text
    assert "choose gguf" in text


async def test_what_was_tried_is_there_when_the_screen_is_opened_again() -> None:
    async with shown(FakeModels(tried=report())) as pilot:
        await pilot.press("escape", "f12")
        await settle(pilot)
        assert "choose gguf" in screen_text(pilot.app)


async def test_stopping_keeps_what_was_tried() -> None:
    models = FakeModels()
    models.held = asyncio.Event()
    async with shown(models) as pilot:
        await pilot.press("r")
        await settle(pilot, held=1)
        assert "41% minilm: asking" in screen_text(pilot.app)
        await pilot.press("c")
        models.held.set()
        await settle(pilot)
        assert "It was stopped" in screen_text(pilot.app)


async def test_memories_leave_this_machine_only_after_a_yes() -> None:
    models = FakeModels()
    models.sent_to = ("models.example.org",)
    async with shown(models) as pilot:
        await pilot.press("r")
        await settle(pilot)
        assert "models.example.org" in screen_text(pilot.app)
        await pilot.press("n")
        await settle(pilot)
        assert models.runs == 0
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert models.runs == 1


async def test_an_embedder_is_added_and_left_out_again() -> None:
    models = FakeModels()
    async with shown(models) as pilot:
        await pilot.press("a")
        await settle(pilot)
        pilot.app.screen.query_one("#answer", Input).value = "gguf:path=/m/new.gguf"
        await pilot.press("enter")
        await settle(pilot)
        assert "gguf:path=/m/new.gguf" in screen_text(pilot.app)
        await pilot.press("down", "d")
        await settle(pilot)
        assert [each.name for each in models.listed] == ["minilm"]


async def test_a_name_that_is_none_is_told_where_it_is_written() -> None:
    models = FakeModels()
    models.error = DomainError("it names no embedder")
    async with shown(models) as pilot:
        await pilot.press("a")
        await settle(pilot)
        pilot.app.screen.query_one("#answer", Input).value = "nothing"
        await pilot.press("enter")
        await settle(pilot)
        assert "it names no embedder" in screen_text(pilot.app)


async def test_the_active_one_can_not_be_left_out() -> None:
    models = FakeModels()
    async with shown(models) as pilot:
        await pilot.press("d")
        await settle(pilot)
        assert toasts(pilot.app)
        assert len(models.listed) == 1


async def test_the_next_set_of_questions_comes_into_view() -> None:
    async with shown(FakeModels(tried=report())) as pilot:
        await pilot.press("v")
        await settle(pilot)
        assert f"{FILE}  2 of 2" in screen_text(pilot.app)


async def test_the_tables_are_copied_as_text() -> None:
    async with shown(FakeModels(tried=report())) as pilot:
        await pilot.press("y")
        await settle(pilot)
        assert pilot.app.clipboard == plain_report(report())
        assert ".748 ±.030" in pilot.app.clipboard


def test_embedders_and_rerankers_are_listed_side_by_side_until_left_out() -> None:
    engine = SimpleNamespace(settings=RootConfig())
    desk = ModelDesk(lambda: cast("Engine", engine))
    desk.add("reranker onnx:path=/m/cross.onnx")
    desk.add("onnx:path=/m/cross.onnx")
    listed = desk.chosen()
    assert [(each.name, each.is_active) for each in listed] == [
        ("minilm", True),
        ("onnx /m/cross.onnx", False),
        ("minilm + onnx /m/cross.onnx", False),
    ]
    desk.remove(listed[1])
    assert [each.name for each in desk.chosen()] == ["minilm", "minilm + onnx /m/cross.onnx"]
    desk.remove(listed[2])
    assert [each.named for each in desk.chosen()] == [""]


@pytest.mark.parametrize("text", ["reranker nothing", "reranker onnx", "nothing"])
def test_what_names_none_is_not_listed(text: str) -> None:
    desk = ModelDesk(lambda: cast("Engine", SimpleNamespace(settings=RootConfig())))
    with pytest.raises(EmbedderNameError):
        desk.add(text)
    assert len(desk.chosen()) == 1
