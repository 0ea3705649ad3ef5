"""Pictures of the jobs screen; each docstring says what must be visible."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress, RunState
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.manage.manage_fakes import FakeManagement, job, job_run
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, Seconds, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until

DAILY, NEVER = ConsolidationInterval.DAILY, ConsolidationInterval.NEVER
BACKUP = "20260101T100000-daily.duckdb, 5.3 MB; 3 daily copies kept"
DONE = job_run("backup", 7, RunState.DONE, BACKUP)
FAILED = job_run(
    "reembedding", 9, RunState.FAILED, "the model server doesn't answer. Start it.", hours=5
)
KILLED = job_run("packing", 3, RunState.INTERRUPTED, "the program ended while it ran", hours=70)


def listed(
    *, running: RunProgress | None = None, runs: tuple[JobRun | None, ...] = ()
) -> tuple[JobStatus, ...]:
    backup, reembedding, packing = (*runs, None, None, None)[:3]
    return (
        job("imports", "Import what agents write", None, idle="ingest.follow is off"),
        job("backup", "Copy the database once a day", DAILY, backup),
        job("sessions", "Delete imported sessions beyond their age", NEVER),
        job("reembedding", "Embed memories without a vector", DAILY, reembedding, running),
        job("packing", "Pack the search index", ConsolidationInterval.WEEKLY, packing),
    )


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(management: FakeManagement) -> MemoryDeskApp:
    app = fake_app(FakeDesk(rows(6)), management=management)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return app


def compare(snap_compare: Compare, size: Size, management: FakeManagement, *keys: str) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("f9", *keys):
            await pilot.press(key)
            await settle(pilot)

    return snap_compare(app_with(management), terminal_size=size, run_before=before)


def test_no_jobs(snap_compare: Compare) -> None:
    """That there are no jobs, and why."""
    assert compare(snap_compare, SIZES, FakeManagement())


def test_jobs_that_have_not_run(snap_compare: Compare) -> None:
    """Each job 'not yet'; when each runs next; 'never' and 'not now' where it doesn't; the cursor's
    title, setting and 'It hasn't run yet'."""
    assert compare(snap_compare, SIZES, FakeManagement(jobs=listed()), "j")


def test_a_running_job(snap_compare: Compare) -> None:
    """A bar with 25 %, the rate and the time left, in the list and in the text; c Stop in the
    footer, and no r Run."""
    running = RunProgress(1_200, 4_800, 600.0, 6.0)
    management = FakeManagement(jobs=listed(running=running, runs=(DONE,)), runs=(DONE,))
    assert compare(snap_compare, SIZES, management, *"jjj")


def test_a_job_that_waits(snap_compare: Compare) -> None:
    """That the job waits for its turn; no rate."""
    management = FakeManagement(jobs=listed(running=RunProgress(waits=True)))
    assert compare(snap_compare, SIZES, management, *"jjj")


def test_a_failed_job(snap_compare: Compare) -> None:
    """A red mark and 'failed 5h'; the reason with what to do, and the lines of the run; the
    interrupted one marked, too."""
    runs = (DONE, FAILED, KILLED)
    management = FakeManagement(jobs=listed(runs=runs), runs=runs)
    assert compare(snap_compare, SIZES, management, *"jjj")


def test_many_runs(snap_compare: Compare) -> None:
    """The latest run with its lines, then the others in two lines each, tokens of those that used
    a model; the text can be scrolled."""
    runs = tuple(
        job_run(
            "backup", 50 - at, RunState.DONE, BACKUP, hours=2 + 24 * at, tokens=1_250 * (at % 2)
        )
        for at in range(50)
    )
    management = FakeManagement(jobs=listed(runs=(runs[0], FAILED, KILLED)), runs=runs)
    assert compare(snap_compare, SIZES, management, "j")


def test_the_header_says_calmly_what_runs(snap_compare: Compare) -> None:
    """'backup 25%' at the right of the header of the Memories pane, in a muted colour."""
    host = FakeHost(FakeDesk(rows(6)))
    app = MemoryDeskApp(host, now=lambda: NOW, monotonic=Seconds())
    app.animation_level = "none"
    app.set_reactive(MemoryDeskApp.app_focus, True)

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        host.works(("backup", RunProgress(1_200, 4_800, 600.0, 6.0)))
        await settle(pilot)

    assert snap_compare(app, terminal_size=SIZES, run_before=before)


async def test_keys_run_and_stop_the_job_under_the_cursor() -> None:
    management = FakeManagement(jobs=listed(runs=(DONE,)), runs=(DONE,))
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f9", "j", "r")
        await settle(pilot)
        assert management.asked == ["run backup"]
        assert "backup: 3 memories embedded" in toasts(app)
        await pilot.press("c")
        assert management.asked == ["run backup"], "nothing runs that could be stopped"
        management.listed = listed(running=RunProgress(1, 4), runs=(DONE,))
        await pilot.press("j", "j")
        await until(pilot, lambda: "25%" in screen_text(app))
        await pilot.press("c")
        await settle(pilot)
        assert management.asked == ["run backup", "cancel reembedding"]
        await pilot.press("escape")
        await settle(pilot)
        assert "Latest runs" not in screen_text(app)
