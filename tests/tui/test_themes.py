"""Both themes are readable: the contrast of every text to everything that it is drawn on."""

import re
from collections.abc import Iterator

import pytest
from textual.color import Color
from textual.theme import Theme

from synthorg_tui.tui.base.form import CategoryPicker
from synthorg_tui.tui.base.lines import ROLES
from synthorg_tui.tui.themes import MIN_CONTRAST, THEMES, contrast, role_styles
from synthorg_tui.tui.widgets.line_list import LineList
from tests import REPO
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle

CSS = (REPO / "synthorg_tui" / "tui" / "app.tcss").read_text("utf-8")
SHARES = re.findall(r"background: \$(\w+) (\d+)%", LineList.DEFAULT_CSS)
"""What a row is drawn on under the cursor, in a list without focus, and under the pointer."""
OWN = {theme.name: theme for theme in THEMES}


def colours(theme: Theme) -> dict[str, str]:
    names = ("primary", "secondary", "accent", "success", "warning", "error", "foreground")
    named = {name: getattr(theme, name) for name in (*names, "background", "surface", "panel")}
    return {name: value for name, value in named.items() if isinstance(value, str)}


def backgrounds(theme: Theme) -> Iterator[tuple[str, Color]]:
    known = colours(theme)
    for name in ("background", "surface", "panel"):
        plain = Color.parse(known[name])
        yield name, plain
        for colour, share in SHARES:
            yield (
                f"{colour} {share}% on {name}",
                plain.blend(Color.parse(known[colour]), int(share) / 100),
            )


PLACES = [(theme.name, place) for theme in THEMES for place, _ in backgrounds(theme)]


def test_the_three_looks_of_a_row_are_tested() -> None:
    assert len(SHARES) == 3
    assert {"desk-dark", "desk-light"} == set(OWN)


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_every_text_has_a_contrast_of_four_and_a_half(name: str, place: str) -> None:
    theme = OWN[name]
    behind = dict(backgrounds(theme))[place]
    styles = role_styles(colours(theme), behind)
    for role in set(ROLES) - {"track"}:  # it draws lines
        colour = styles[role].color
        assert colour is not None
        assert contrast(Color.from_rich_color(colour), behind) >= MIN_CONTRAST, role


@pytest.mark.parametrize("name", OWN)
def test_titles_in_frames_and_hints_in_entries_are_as_readable(name: str) -> None:
    known = {key: Color.parse(value) for key, value in colours(OWN[name]).items()}
    shares = [int(share) for share in re.findall(r"color: \$foreground (\d+)%", CSS)]
    assert len(shares) >= 5
    for behind in ("background", "surface", "panel"):
        text = known[behind].blend(known["foreground"], min(shares) / 100)
        assert contrast(text, known[behind]) >= MIN_CONTRAST


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#123456", "#123456", 1.0)],
)
def test_contrast_is_that_of_wcag(one: str, other: str, expected: float) -> None:
    assert contrast(Color.parse(one), Color.parse(other)) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("size", [(120, 40)])
async def test_without_colours_only_the_list_with_the_focus_is_in_reverse_video(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        listed = pane(app).rows
        row = next(y for y in range(9) if listed.place_of(y) == (0, 0))
        _, focused = listed.line_at(row, 40)
        pane(app).body.detail.focus()
        await settle(pilot)
        _, blurred = listed.line_at(row, 40)
        assert focused is not None
        assert blurred is not None
        assert (focused.reverse, focused.underline) == (True, None)
        assert (blurred.reverse, blurred.underline) == (None, True)


async def test_the_button_that_enter_presses_is_marked() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("d")
        await settle(pilot)
        assert "▸ No, keep (n)" in screen_text(app)
        assert "▸ Delete (y)" not in screen_text(app)
        await pilot.press("tab")
        await settle(pilot)
        assert "▸ No, keep (n)" not in screen_text(app)
        assert "▸ Delete (y)" in screen_text(app)


async def test_the_chosen_category_is_marked_whether_it_has_the_focus_or_not() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("e")
        await settle(pilot)
        picker = app.screen.query_one(CategoryPicker)
        assert "•" in screen_text(app).splitlines()[picker.region.y]
        picker.focus()
        await settle(pilot)
        assert "▸" in screen_text(app).splitlines()[picker.region.y]
