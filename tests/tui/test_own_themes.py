"""Themes that a person wrote, in the list of themes and at the next start."""

from pathlib import Path

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.state import FILE_NAME, UiState, save_state
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text


def app_in(folder: Path) -> MemoryDeskApp:
    host = FakeHost(FakeDesk(rows(6)))
    return MemoryDeskApp(host, data_dir=folder, now=lambda: NOW, themes=folder / "themes")


def write(folder: Path, text: str, name: str = "sea") -> None:
    (folder / "themes").mkdir(exist_ok=True)
    (folder / "themes" / f"{name}.yaml").write_text(text, "utf-8")


async def test_a_theme_of_ones_own_is_listed_chosen_and_used_at_the_next_start(
    tmp_path: Path,
) -> None:
    write(tmp_path, 'primary: "#123456"\nbackground: "#fafafa"\ndark: false\n')
    app = app_in(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "sea" not in app.available_themes
        await pilot.press("ctrl+t")
        await type_text(pilot, "sea")
        await settle(pilot)
        assert "sea" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert app.theme == "sea"
    app = app_in(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.theme == "sea"
        assert app.theme_variables["primary"].casefold() == "#123456"


async def test_a_wrong_file_is_told_with_the_list_and_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, "primary: red\n", "wrong")
    write(tmp_path, 'primary: "#123456"\n')
    app = app_in(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert not toasts(app)
        await pilot.press("ctrl+t")
        await settle(pilot)
        assert not toasts(app)
        await pilot.press("escape")
        await settle(pilot)
        assert 'wrong.yaml:1: primary: "red" isn\'t allowed; a colour in quotes' in toasts(app)
        assert "sea" in app.available_themes
        assert "wrong" not in app.available_themes


async def test_a_theme_of_the_program_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path, 'primary: "#123456"\nname: desk-dark\n')
    app = app_in(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = app.available_themes["desk-dark"]
        await pilot.press("ctrl+t", "escape")
        await settle(pilot)
        assert app.available_themes["desk-dark"] is before
        assert "desk-dark is a theme already" in toasts(app)


async def test_without_its_file_the_usual_theme_is_used(tmp_path: Path) -> None:
    save_state(tmp_path / FILE_NAME, UiState(theme="sea"))
    app = app_in(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.theme == "desk-dark"
        assert not toasts(app)


async def test_a_theme_in_use_that_is_wrong_now_is_told_at_the_start(tmp_path: Path) -> None:
    save_state(tmp_path / FILE_NAME, UiState(theme="sea"))
    write(tmp_path, "primary: #123456\n")
    app = app_in(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.theme == "desk-dark"
        assert "sea.yaml:1: primary: null isn't allowed" in toasts(app)
