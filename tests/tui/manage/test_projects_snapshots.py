"""Pictures of the project screens; each docstring says what must be visible."""

from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from tests.tui.manage.manage_fakes import FakeManagement, person_page, project_page
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

EMPTY = project_page("till", count=0, sessions=1)
FULL = (person_page(), project_page(), EMPTY, project_page("yard", count=20))


def compare(snap_compare: Compare, size: Size, management: FakeManagement, *keys: str) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("7", *keys):
            await pilot.press(key)
            await settle(pilot)

    app = fake_app(FakeDesk(rows(6)), management=management)
    app.set_reactive(type(app).app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_no_projects(snap_compare: Compare) -> None:
    """That there are none, where they come from, and the next step."""
    assert compare(snap_compare, SIZES, FakeManagement())


def test_reading_the_projects(snap_compare: Compare) -> None:
    """That the projects are being read."""

    async def before(pilot: Pilot[None]) -> None:
        import asyncio

        await settle(pilot)
        management.gate = asyncio.Event()
        await pilot.press("7")
        await pilot.pause()

    management = FakeManagement()
    app = fake_app(FakeDesk(rows(6)), management=management)
    app.set_reactive(type(app).app_focus, True)
    assert snap_compare(app, terminal_size=SIZES, run_before=before)


def test_projects_that_cannot_be_read(snap_compare: Compare) -> None:
    """The cause and what to do."""
    management = FakeManagement()
    management.error = DomainError("the store is damaged.", remedy="Run synthorg-tui doctor.")
    assert compare(snap_compare, SIZES, management)


def test_many_projects(snap_compare: Compare) -> None:
    """The page of the person first, marked; of each project how much is known and since when; the
    page of the one under the cursor with sections and counters; how many sessions wait."""
    assert compare(snap_compare, SIZES, FakeManagement(pages=FULL), "j")


def test_the_page_of_a_project(snap_compare: Compare) -> None:
    """Lines under their sections with counters and a bar of certainty; the one under the cursor in
    full: counters, certainty in a word, last use, the places; the edited one marked."""
    assert compare(snap_compare, SIZES, FakeManagement(pages=FULL), "j", "enter", "j")


def test_a_project_of_which_nothing_is_known(snap_compare: Compare) -> None:
    """That nothing certain is known yet, and the key that looks at sessions."""
    assert compare(snap_compare, SIZES, FakeManagement(pages=FULL), "j", "j", "enter")


def test_where_a_line_was_seen(snap_compare: Compare) -> None:
    """The two places that the line was seen at, to choose from."""
    assert compare(snap_compare, SIZES, FakeManagement(pages=FULL), "j", "enter", "j", "enter")
