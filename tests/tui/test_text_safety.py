"""Hostile text in every field and file name: nothing acts, nothing is markup, nothing crashes."""

import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from synthorg_tui.approvals.models import ApprovalEvent, Flag
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import Evidence, FileChangeKind, FileChangePayload, Lesson
from synthorg_tui.curation.overview import SkillDetail
from synthorg_tui.curation.review import NearSkill, Review, Subject, SubjectKind
from synthorg_tui.executions.conversation import Conversation, conversation_of
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.sessions import StoredSession
from synthorg_tui.ingest.discovery import FoundTranscripts
from synthorg_tui.ingest.service import ImportReport
from synthorg_tui.memory.listing import BrowseFilter, Facets, ListedMemory
from synthorg_tui.memory.retrieval.passages import PassageFinder
from synthorg_tui.skills.document import Finding, Severity
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.wording import Wording
from synthorg_tui.tui.base.filters import parse_query
from synthorg_tui.tui.base.lines import Line, plain, wrap
from synthorg_tui.tui.base.window import RowWindow
from synthorg_tui.tui.jobs import toast
from synthorg_tui.tui.memories.detail import detail_lines
from synthorg_tui.tui.memories.headings import headings_of
from synthorg_tui.tui.memories.lines import (
    chip_line,
    facet_lines,
    found_lines,
    listing_error,
    memory_line,
    place_line,
    report_lines,
)
from synthorg_tui.tui.sessions.adapter import MadeOfSession
from synthorg_tui.tui.sessions.conversation_lines import TranscriptText
from synthorg_tui.tui.sessions.lines import session_line, session_lines
from synthorg_tui.tui.sessions.state import SessionRow
from tests.tui.activity.activity_fakes import AGENTS, FakeActivity, calls
from tests.tui.approvals.approvals_fakes import (
    FakeApprovals,
    approval_rows,
    lesson_of,
    memory_of,
    with_item,
)
from tests.tui.sessions.sessions_fakes import FakeSessions, execution, session
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows, version_of
from tests.tui.tui_fakes import NOW, FakeDesk, edit_of, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, type_text

EVIL = (
    "\x1b[31m\x1b]0;pwned\x07[@click=app.quit]click[/] [/x] \u202eevil\u200b\x9b2J"
    " \ud800 \U000e0041"
)
VISIBLE_FORMAT = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
SIZE = (120, 40)
TEXTS = st.text(st.characters(codec=None), max_size=60)


def acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def evil_row(text: str = EVIL) -> ListedMemory:
    return replace(
        rows(1)[0],
        agent_id=text,
        content=text,
        tags=(text,),
        source=f"{text.replace(' ', '')}#L10-L14",
        namespace=text,
        dense=0.5,
        sparse=2.0,
        fused=0.7,
    )


def evil_execution(text: str = EVIL) -> Execution:
    """A session in which everything that was said, called and printed is this text."""
    return evil_copy(execution("claude-code:3f2a91c0"), text)


def evil_copy(recorded: Execution, text: str) -> Execution:
    turns = tuple(turn.model_copy(update={"text": text}) for turn in recorded.turns)
    said = {"tool": text, "arguments": text, "output": text, "intent": text}
    calls = tuple(call.model_copy(update=said) for call in recorded.calls)
    return recorded.model_copy(update={"turns": turns, "calls": calls})


def evil_stored(text: str) -> StoredSession:
    """A session whose every text is this one."""
    return session(0, title=text, agent_id=text, project=text, path=text, model=text)


def evil_sessions() -> FakeSessions:
    stored = evil_stored(EVIL)
    fake = FakeSessions([stored])
    fake.executions = {each: evil_execution() for each in (stored.id, "claude-code:3f2a91c0", EVIL)}
    fake.made = {stored.id: MadeOfSession((EVIL,), 1, 0, EVIL)}
    fake.line = EVIL
    return fake


def evil_conversation(text: str) -> Conversation:
    return conversation_of(evil_execution(text))


def evil_desk() -> FakeDesk:
    live = [replace(evil_row(), id=f"{EVIL}{at}", content=EVIL * 3) for at in range(5)]
    desk = FakeDesk(live)
    desk.places = (FoundTranscripts(EVIL, Path(f"/home/{EVIL}"), 3, 3000),)
    desk.skipped = ((f"/tmp/{EVIL}", EVIL),)
    desk.sessions = evil_sessions()
    desk.degraded = EVIL
    for row in live:
        desk.revisions[row.id] = [edit_of(row.id, EVIL, {EVIL: EVIL}, {EVIL: [EVIL]})]
    return desk


def assert_inert(app: MemoryDeskApp) -> None:
    """No acting character in any segment, and no segment that carries an action."""
    for strip in app.screen._compositor.render_strips(app.screen.size):
        for segment in strip:
            assert isinstance(segment, Segment)
            assert not [c for c in segment.text if acts(c)], segment
            meta = segment.style.meta if segment.style else {}
            assert "@click" not in meta, segment


async def click_everywhere(pilot: object, app: MemoryDeskApp) -> None:
    for y in range(0, SIZE[1], 6):
        for x in range(2, SIZE[0], 17):
            widget, _ = app.screen.get_widget_at(x, y)
            meta = app.screen.get_style_at(x, y).meta
            assert "@click" not in meta, widget


async def check_after_each(pilot: Pilot[None], app: MemoryDeskApp, keys: str) -> set[str]:
    """Press keys one by one and check what each shows; return the names of the screens."""
    seen = set()
    for key in ("", *keys.split()):
        if key:
            await pilot.press(key)
            await settle(pilot)
        assert_inert(app)
        await click_everywhere(pilot, app)
        assert app.is_running, key
        seen.add(type(app.screen).__name__)
    return seen


@pytest.mark.parametrize(
    ("keys", "screens"),
    [
        ("z escape e escape a escape", {"MemoriesScreen", "MemoryForm"}),
        ("space d n question_mark escape", {"MemoriesScreen", "ConfirmDialog", "HelpScreen"}),
        ("y U escape x", {"MemoriesScreen", "DeletedScreen"}),
        ("p z escape v", {"MemoriesScreen", "TranscriptScreen"}),
        (
            "6 enter z escape escape d",
            {"MemoriesScreen", "SessionsScreen", "TranscriptScreen", "DeleteSessionDialog"},
        ),
        ("i i i", {"MemoriesScreen", "ImportScreen"}),
    ],
    ids=["memories", "dialogs", "deleted", "source", "sessions", "import"],
)
async def test_no_screen_lets_hostile_text_act(keys: str, screens: set[str]) -> None:
    desk = evil_desk()
    await desk.remove([f"{EVIL}4"])
    app = fake_app(desk)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert await check_after_each(pilot, app, keys) == screens


def evil_evidence() -> Evidence:
    names = ("execution", "lines", "agent_id", "failed", "error", "resolved_by", "project")
    texts: dict[str, Any] = dict.fromkeys(names, EVIL)
    return Evidence.model_construct(**texts, between=(EVIL,), at=NOW)


class EvilApprovals(FakeApprovals):
    """A queue whose every text is hostile."""

    def sheet(self, item_id: str) -> Review:
        review = super().sheet(item_id)
        wording = Wording(EVIL, EVIL, EVIL, EVIL, (EVIL, EVIL))
        grounded = replace(wording, action="x" + EVIL)
        authors: Any = {"discovery": EVIL}
        subject: Subject | None = None
        if review.near:
            subject = lesson_of(wording, grounded, EVIL, authors)
        if review.entry.kind is SubjectKind.FILE_CHANGE:
            subject = FileChangePayload.model_construct(
                change=FileChangeKind.CONFLICT, name=EVIL, path=EVIL, ours=EVIL
            )
        kind: Any = EVIL
        seen = evil_evidence()
        return replace(
            review,
            entry=replace(
                with_item(review.entry, description=EVIL, requested_by=EVIL),
                subject=subject or review.entry.subject,
                evidence=(seen, seen),
            ),
            flags=(Flag(kind, EVIL, EVIL),),
            near=(NearSkill(EVIL, EVIL, EVIL, 0.5, EVIL),),
            path=EVIL,
            text=EVIL,
            diff=(EVIL, f"+{EVIL}"),
            replaces=(memory_of(EVIL),),
            agents=(EVIL,),
        )

    async def trail(self, item_id: str) -> tuple[ApprovalEvent, ...]:
        kind: Any = EVIL
        return (ApprovalEvent(1, item_id, NOW, kind, EVIL, EVIL, EVIL),)


class EvilSkills(FakeSkills):
    """Skills whose every text is hostile."""

    async def skill(self, path: str) -> SkillDetail:
        finding = Finding(1, Severity.ERROR, EVIL, EVIL)
        row = replace(self.rows[path], findings=(finding,), shadowed_by=EVIL, waiting=EVIL)
        seen = evil_evidence()
        versions = tuple(version_of(NOW, EVIL, text) for text in (EVIL, "x"))
        return SkillDetail(row, EVIL, (EVIL,), versions, (seen,))


def evil_learning() -> FakeDesk:
    desk = evil_desk()
    items = [
        replace(
            with_item(row, id=f"{EVIL}{at}", title=EVIL, decision_reason=EVIL, decided_by=EVIL),
            scope=EVIL,
            subject=lesson_of(agent_id=EVIL) if isinstance(row.subject, Lesson) else row.subject,
        )
        for at, row in enumerate(approval_rows(6))
    ]
    desk.approvals = EvilApprovals(items, {item.item.id: 1 for item in items})
    desk.activity = FakeActivity(
        [
            call._replace(agent_id=EVIL, client=EVIL, name=EVIL, arguments=EVIL, reply=EVIL)
            for call in calls(6)
        ],
        [replace(agent, agent_id=EVIL, client=EVIL, project=EVIL) for agent in AGENTS],
    )
    desk.skills = EvilSkills([replace(row, name=EVIL) for row in skill_rows(7)])
    return desk


@pytest.mark.parametrize(
    ("keys", "screens"),
    [
        (
            "4 t t enter a n c G p",
            {"ApprovalsScreen", "ReviewScreen", "ConfirmDialog", "TranscriptScreen"},
        ),
        ("4 enter e", {"ApprovalsScreen", "ReviewScreen", "RewordForm"}),
        ("3 d v z escape X", {"SkillsScreen", "ConfirmDialog"}),
        ("5 v z escape X n j j j u", {"ActivityScreen", "ConfirmDialog"}),
    ],
    ids=["review", "rewording", "skills", "activity"],
)
async def test_no_screen_of_learning_lets_hostile_text_act(keys: str, screens: set[str]) -> None:
    app = fake_app(evil_learning())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert await check_after_each(pilot, app, keys) == {"MemoriesScreen", *screens}


async def test_search_results_and_banner_are_inert() -> None:
    app = fake_app(evil_desk())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "evil")
        await pilot.press("enter")
        await settle(pilot)
        assert "Results" in screen_text(app)
        assert_inert(app)


async def test_clicking_on_a_spelled_action_does_nothing() -> None:
    app = fake_app(evil_desk())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for y, text in enumerate(screen_text(app).splitlines()):
            if "@click" in text:
                await pilot.click(offset=(text.index("@click") + 2, y))
        await settle(pilot)
        assert app.is_running


async def test_error_messages_and_toasts_are_inert() -> None:
    app = fake_app(error=DomainError(EVIL, remedy=EVIL))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        toast(app, EVIL, severity="error")
        await settle(pilot)
        assert_inert(app)


async def test_what_is_pasted_is_inert() -> None:
    from textual import events

    app = fake_app()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        app.post_message(events.Paste(EVIL))
        await settle(pilot)
        assert "pwned" in app.screen.query_one("#query", Input).value
        assert_inert(app)


async def test_an_edit_that_touches_nothing_keeps_hidden_characters() -> None:
    desk = evil_desk()
    before = dict(desk.live)
    app = fake_app(desk)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("e")
        assert "␛" in app.screen.query_one("#content", TextArea).text
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert desk.live == before


def assert_safe(lines: list[Line]) -> None:
    shown = plain(lines).replace("\n", "")
    assert not [c for c in shown if acts(c) and c not in VISIBLE_FORMAT]


@given(TEXTS, st.integers(1, 130))
def test_view_models_give_safe_lines_of_exact_width(text: str, width: int) -> None:
    row = evil_row(text)
    first = memory_line(row, width, now=NOW, marked=True)
    assert first.width <= width
    place = place_line(FoundTranscripts(text, Path(text), 1, 1), width, chosen=True)
    assert place.width <= width
    history = [edit_of(row.id, text, {"content": text}, {"content": text * 2, text: text})]
    detail = detail_lines(row, history, now=NOW)
    categories = ((MemoryCategory.SOCIAL, 1), (MemoryCategory.WORKING, 1))
    facets = Facets(((text, 1),), categories, projects=((text, 1), (f"/{text}", 1)))
    groups = [each for _, each in facet_lines(facets, width, chosen=BrowseFilter())]
    listed = replace(row, project=text, agent_id=text)
    found = found_lines(listed, width, finder=PassageFinder(text), now=NOW, marked=False)
    assert all(each.width <= width for each in found)
    over = headings_of(RowWindow((listed,), 0, 1), "newest", now=NOW).over(0)
    headings = [heading.line(width) for heading in over]
    assert all(heading.width <= width for heading in headings)
    report = report_lines(ImportReport(files=1, memories_added=1, skipped=((text, text),)))
    transcript = TranscriptText(evil_conversation(text), named=(10, 11))
    transcript.turn_all(unfolded=True)
    stored = evil_stored(text)
    session_row = SessionRow(stored, project=text, agent=text)
    drawn_session = session_line(session_row, width, unfolded=False)
    assert drawn_session.width <= width
    known = session_lines(stored, MadeOfSession((text,), 1, 0, text), parts=1, now=NOW)
    chips = chip_line(parse_query(text, now=NOW), search=False)
    errors = listing_error(DomainError(text, remedy=text))
    assert_safe([first, place, *found, *headings, *detail, *groups, *report, chips, *errors])
    assert_safe([*transcript.lines, drawn_session, *known])
    assert all(row.width <= max(width, 2) for each in detail for row in wrap(each, width))
