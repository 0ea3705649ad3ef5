"""The action registry: described, reachable, and short enough for the footer."""

import pytest

from synthorg_tui.tui import actions
from synthorg_tui.tui.activity.screen import ActivityScreen
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.dialogs import RewordForm
from synthorg_tui.tui.approvals.parts import PartsScreen
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.form import MemoryForm
from synthorg_tui.tui.digest.dialogs import AgentDialog
from synthorg_tui.tui.digest.scenarios import ScenariosScreen
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.digest.widgets import OptionsList
from synthorg_tui.tui.fine_tune.screen import FineTuneScreen
from synthorg_tui.tui.key_table import (
    COMMANDS,
    CONTEXTS,
    EXCEPTIONS,
    MEANINGS,
    SCREEN_ONLY_CONTEXTS,
    KeyMeaning,
)
from synthorg_tui.tui.manage.agents import AgentsScreen
from synthorg_tui.tui.manage.backups import BackupsScreen
from synthorg_tui.tui.manage.connecting import ConnectScreen
from synthorg_tui.tui.manage.consolidation import ConsolidationScreen
from synthorg_tui.tui.manage.doctor import DoctorScreen
from synthorg_tui.tui.manage.jobs import JobsScreen
from synthorg_tui.tui.manage.projects import ProjectScreen, ProjectsScreen
from synthorg_tui.tui.manage.settings import SettingsScreen
from synthorg_tui.tui.memories.deleted import DeletedScreen
from synthorg_tui.tui.memories.importing import ImportScreen
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.memories.versions import VersionsScreen
from synthorg_tui.tui.memories.welcome import WelcomeScreen
from synthorg_tui.tui.models.screen import ModelsScreen
from synthorg_tui.tui.organisation.screen import OrganisationScreen
from synthorg_tui.tui.organisation.widgets import TimeBar
from synthorg_tui.tui.overview.calendar import CalendarBlock
from synthorg_tui.tui.overview.screen import OverviewScreen
from synthorg_tui.tui.panes import PANES
from synthorg_tui.tui.runs.screen import RunsScreen
from synthorg_tui.tui.sessions.deleting import DeleteSessionDialog
from synthorg_tui.tui.sessions.screen import SessionsScreen
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from synthorg_tui.tui.skills.screen import SkillsScreen
from synthorg_tui.tui.widgets.bars import SHORT_TITLE, KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from tests import REPO
from tests.cli.test_parser import EVERY
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts

OWNERS: dict[str, type] = {
    "app": MemoryDeskApp,
    "memories": MemoriesScreen,
    "digest": DigestScreen,
    "knobs": OptionsList,
    "choose": AgentDialog,
    "scenarios": ScenariosScreen,
    "skills": SkillsScreen,
    "approvals": ApprovalsScreen,
    "activity": ActivityScreen,
    "sessions": SessionsScreen,
    "organisation": OrganisationScreen,
    "overview": OverviewScreen,
    "calendar": CalendarBlock,
    "slider": TimeBar,
    "deleting": DeleteSessionDialog,
    "review": ReviewScreen,
    "lesson": RewordForm,
    "parts": PartsScreen,
    "list": LineList,
    "view": LineView,
    "source": TranscriptScreen,
    "deleted": DeletedScreen,
    "versions": VersionsScreen,
    "importing": ImportScreen,
    "welcome": WelcomeScreen,
    "doctor": DoctorScreen,
    "backups": BackupsScreen,
    "jobs": JobsScreen,
    "projects": ProjectsScreen,
    "project": ProjectScreen,
    "consolidation": ConsolidationScreen,
    "connecting": ConnectScreen,
    "agents": AgentsScreen,
    "settings": SettingsScreen,
    "runs": RunsScreen,
    "models": ModelsScreen,
    "tuning": FineTuneScreen,
    "form": MemoryForm,
    "confirm": ConfirmDialog,
}
NOT_IN_PALETTE = {
    "app.command_palette": "it is open",
    "app.next_part": "moves the focus, which the palette has",
    **dict.fromkeys(
        (f"{pane}.back" for pane, _, _ in PANES),
        "closes what is open, as the palette's own escape does",
    ),
    "form.save": "a form is left before anything else is done",
    "form.close": "a form is left before anything else is done",
}
FOOTERS = (
    ("memories", "app"),
    ("digest", "app"),
    ("scenarios", "app"),
    ("skills", "app"),
    ("approvals", "app"),
    ("activity", "app"),
    ("sessions", "app"),
    ("organisation", "app"),
    ("overview", "app"),
    ("models", "app"),
    ("review", "app"),
    ("source", "app"),
    ("deleted", "app"),
    ("versions", "app"),
    ("importing", "app"),
    ("welcome", "app"),
    ("doctor", "app"),
    ("backups", "app"),
    ("jobs", "app"),
    ("projects", "app"),
    ("project", "app"),
    ("consolidation", "app"),
    ("connecting", "app"),
    ("agents", "app"),
    ("settings", "app"),
    ("tuning", "app"),
    ("runs", "app"),
)


def test_every_action_is_described_and_has_code_behind_it() -> None:
    for action in actions.ACTIONS:
        assert action.label, action.id
        assert action.help, action.id
        method = "action_" + action.method.partition("(")[0]
        assert hasattr(OWNERS[action.context], method), action.id


def test_ids_and_keys_are_unique_within_a_context() -> None:
    assert len({action.id for action in actions.ACTIONS}) == len(actions.ACTIONS)
    for context in CONTEXTS:
        keys = [key for action in actions.of(context) for key in action.keys.split(",")]
        assert len(keys) == len(set(keys)), context


def test_a_key_has_one_meaning_in_every_pane() -> None:
    meanings: dict[str, KeyMeaning] = {}
    for each in MEANINGS:
        for key in each.keys.split(","):
            assert key not in meanings, f"{key} has two rows in tui/key_table.py"
            meanings[key] = each
    for action in actions.ACTIONS:
        verb = action.id.partition(".")[2]
        for key in action.keys.split(","):
            meant = meanings[key].verbs.split() if key in meanings else []
            assert verb in meant or (action.id, key) in EXCEPTIONS, (
                f"{action.id} has {key}, which means {meanings.get(key)}: take a free key and add "
                "it to MEANINGS in tui/key_table.py, or add the exception with its reason"
            )


def test_no_exception_or_meaning_is_left_over() -> None:
    had = {(action.id, key) for action in actions.ACTIONS for key in action.keys.split(",")}
    assert set(EXCEPTIONS) <= had
    assert set(COMMANDS) <= {action.id for action in actions.ACTIONS}


COMMANDS_THERE = {"--help", *EVERY}


def test_what_a_key_does_is_in_the_palette_in_the_docs_and_done_by_a_command() -> None:
    documented = (REPO / "docs" / "keys.md").read_text("utf-8")
    for action in actions.ACTIONS:
        is_offered = action.palette or action.context in SCREEN_ONLY_CONTEXTS
        is_offered = is_offered or action.id in NOT_IN_PALETTE
        assert is_offered, f"{action.id}: offer it in the palette, or name it in NOT_IN_PALETTE"
        assert f"`{action.id}`" in documented, (
            "make docs/keys.md anew: python -m synthorg_tui.tui.actions > docs/keys.md"
        )
        assert action.command or action.screen_only, (
            f"{action.id}: name the command that does it without a screen in COMMANDS of "
            "tui/key_table.py, or say in SCREEN_ONLY why there is none"
        )
        assert not action.command or action.command in COMMANDS_THERE, action.command


@pytest.mark.parametrize("contexts", FOOTERS, ids="+".join)
def test_footers_have_at_most_eight_keys_and_fit_80_columns(contexts: tuple[str, ...]) -> None:
    shown = [action for context in contexts for action in actions.of(context) if action.footer]
    assert len(shown) <= actions.FOOTER_KEYS
    assert sum(len(action.shown) + len(action.label) + 3 for action in shown) <= 80


async def test_the_footer_shows_help_last_and_clips_nothing() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        footer = screen_text(app).splitlines()[-1]
        for action in app.screen.query_one(KeyBar).actions:
            assert action.label in footer
        assert footer.rstrip().endswith("Help")


@pytest.mark.parametrize(("width", "most"), [(80, 8), (120, 99)])
async def test_a_wider_footer_has_more_keys(width: int, most: int) -> None:
    app = fake_app()
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        shown = app.screen.query_one(KeyBar).actions
        assert 7 <= len(shown) <= most
        assert (len(shown) > actions.FOOTER_KEYS) == (width == 120)
        footer = screen_text(app).splitlines()[-1]
        assert all(action.label in footer for action in shown)


async def test_the_footer_offers_no_key_for_a_row_where_there_is_none() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "d Delete" in screen_text(app).splitlines()[-1]
        await pilot.press("slash", *"zebra", "enter")
        await settle(pilot)
        footer = screen_text(app).splitlines()[-1]
        assert "Filter" in footer
        for label in ("d Delete", "Edit", "Mark", "Source"):
            assert label not in footer
        await pilot.press("escape")
        await settle(pilot)
        assert "d Delete" in screen_text(app).splitlines()[-1]


async def test_a_text_that_names_a_key_names_the_one_it_is_bound_to() -> None:
    app = fake_app(FakeDesk(rows(6)))
    app.set_keymap({"app.quit": "Q"})
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert "Q quits" in toasts(app)


async def test_dialogs_and_toasts_name_a_key_as_a_person_bound_it() -> None:
    app = fake_app(FakeDesk(rows(6)))
    app.set_keymap({"memories.undo": "ctrl+z"})
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("d")
        await settle(pilot)
        assert "^z undoes this." in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert "^z brings back" in toasts(app)


async def test_a_toast_goes_with_the_screen_it_was_about_and_once_it_is_over() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("V")
        await settle(pilot)
        assert "Range starts here; V again marks" in toasts(app)
        await pilot.press("j", "V")
        await settle(pilot)
        assert toasts(app) == ""
        await pilot.press("V", "2")
        await settle(pilot)
        assert toasts(app) == ""


async def test_a_click_on_the_footer_does_what_the_key_does() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        at = screen_text(app).splitlines()[-1].index("Delete")
        await pilot.click("#keys", offset=(at + 1, 0))
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)


async def test_help_lists_every_key_of_the_screen() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 100)) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        await settle(pilot)
        shown = screen_text(app)
        for action in actions.of("memories", "list", "app"):
            assert action.label in shown


async def test_the_palette_offers_the_actions_of_the_screen() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        offered = [command.help for command in app.get_system_commands(app.screen)]
        expected = [a.help for a in actions.of("memories", "app") if a.palette]
        assert sorted(offered) == sorted(expected)


async def test_a_keymap_replaces_keys() -> None:
    app = fake_app(FakeDesk(rows(6)))
    app.set_keymap({"memories.delete": "D"})
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("d")
        assert isinstance(app.screen, MemoriesScreen)
        await pilot.press("D")
        assert isinstance(app.screen, ConfirmDialog)


def test_the_keys_document_is_as_generated() -> None:
    assert (REPO / "docs" / "keys.md").read_text("utf-8") == actions.keys_document()


def test_the_app_file_stays_short() -> None:
    source = REPO / "synthorg_tui" / "tui" / "app.py"
    assert len(source.read_text("utf-8").splitlines()) < 300


@pytest.mark.parametrize("width", [80, 120])
async def test_a_click_on_a_tab_of_the_header_goes_to_the_pane(width: int) -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        for is_at_the_end in (False, True):
            for mode, title, key in (*PANES[1:], PANES[0]):
                top = screen_text(app).splitlines()[0]
                shown = title if f"{key} {title}" in top else title[:SHORT_TITLE]
                edge = len(shown) + 1 if is_at_the_end else 0
                await pilot.click(offset=(top.index(f"{key} {shown}") + edge, 0))
                await settle(pilot)
                assert app.current_mode == mode
        await pilot.press(PANES[-1][2])
        await settle(pilot)
        await pilot.click(offset=(width - 3, 0))
        assert app.current_mode == PANES[-1][0]
