"""A queue in memory: what the Approvals pane is tested against."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui import app as app_module
from synthorg_tui.tui.approvals.ports import (
    ApprovalRow,
    Bulk,
    Flag,
    Neighbour,
    Note,
    Occurrence,
    ReviewSheet,
    Reworded,
    StaleReview,
    Status,
    TrailEvent,
    Wording,
)

app_module.COUNT_AFTER = 0.001

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
GROUNDED = Wording(
    "`git push` fails on a branch that has no upstream",
    "When `git push` says: The current branch feature/cart has no upstream branch.",
    "Run `git push -u origin HEAD`.",
    "It failed in 2 runs and worked each time with -u.",
    ("Run `git push -u origin HEAD`.", "Run `git status -sb` and look for the upstream."),
)
PROPOSED = replace(
    GROUNDED,
    discovery="Set the upstream with the first push of a new branch",
    rationale="A new branch has no upstream, so a bare push has nowhere to go.",
)
OCCURRENCES = (
    Occurrence(
        "claude-code:3f2a91c0#L10-L14",
        "claude-code",
        "git push",
        "fatal: The current branch feature/cart has no upstream branch.\n"
        "To push the current branch and set the remote as upstream, use",
        "git push -u origin HEAD",
        ("git branch -vv",),
        NOW - timedelta(days=3),
        "/home/ada/work/shop",
    ),
    Occurrence(
        "codex:7be0442d#L31-L40",
        "codex",
        "git push",
        "fatal: The current branch fix/tax has no upstream branch.",
        "git push --set-upstream origin fix/tax",
        (),
        NOW - timedelta(days=1),
        "shop",
    ),
)
DIFF: tuple[str, ...] = (
    "--- skills/set-upstream-first-push/SKILL.md",
    "+++ proposed",
    "@@ -1,6 +1,6 @@",
    " ---",
    ' name: "set-upstream-first-push"',
    '-description: "Use when git push fails."',
    '+description: "Use when git push fails on a branch that has no upstream."',
    " ---",
)
_TITLES = (
    ("lesson", "Set the upstream with the first push of a new branch", "claude-code", "agent"),
    ("lesson", "Arm the timer before the mock clock is moved", "claude-code", "agent"),
    ("promotion", "Rebuild the index after every migration", "", "org"),
    ("file_change", "set-upstream-first-push was edited on disk", "codex", "agent"),
    ("prune", "7 lessons nobody used for 90 days", "", ""),
    ("conflict", "Two ways to reset the staging database", "codex", "org"),
)


def approval_rows(count: int) -> list[ApprovalRow]:
    """Different items, newest first."""
    made = []
    for at in range(count):
        kind, title, agent, scope = _TITLES[at % len(_TITLES)]
        has_lesson = kind in ("lesson", "promotion", "conflict")
        made.append(
            ApprovalRow(
                f"{kind}-{at:04d}",
                kind,
                title + ("" if at < len(_TITLES) else f" (case {at})"),
                NOW - timedelta(hours=2 + at * 7),
                risk="high" if kind == "conflict" else "medium" if has_lesson else "low",
                agent_id=agent,
                scope=scope,
                confidence=round(0.92 - (at % 9) * 0.06, 2) if has_lesson else None,
                recurrence=2 - at % 2 if has_lesson else 0,
                flags=1 if at % 6 == 5 else 0,
                expires_at=NOW + timedelta(days=80),
            )
        )
    return made


def written(text: str, **said: Any) -> tuple[ApprovalRow, Note]:
    """A memory that an agent wants kept, and its row."""
    row = ApprovalRow(
        "write-0000",
        "write",
        " ".join(text.split())[:120],
        NOW - timedelta(minutes=4),
        risk="low",
        agent_id="claude-code",
        expires_at=NOW + timedelta(days=90),
    )
    given = {
        "category": "semantic",
        "source": "agent:claude-code 2.1",
        "project": "/home/ada/work/shop",
        "tags": ("origin:agent",),
        "written_at": NOW - timedelta(minutes=4),
        **said,
    }
    return row, Note(text, **given)


class FakeApprovals:
    """Items in a dict; ``rewrite`` and ``touch_file`` change them behind a review's back."""

    def __init__(
        self, rows: Sequence[ApprovalRow] = (), notes: Mapping[str, Note] | None = None
    ) -> None:
        self.rows = {row.id: row for row in rows}
        self.notes = dict(notes or {})
        self.proposed = dict.fromkeys(self.rows, PROPOSED)
        self.files = dict.fromkeys(self.rows, DIFF)
        self.decided: list[tuple[str, str, Reworded | None]] = []
        self.error: DomainError | None = None
        self.counted = 0
        self.changed: Callable[[], None] = lambda: None

    def rewrite(self, item_id: str, discovery: str) -> None:
        self.proposed[item_id] = replace(self.proposed[item_id], discovery=discovery)

    def touch_file(self, item_id: str, text: str) -> None:
        self.files[item_id] = (*DIFF, f"+{text}")

    def _shown(self, item_id: str) -> str:
        note = self.notes.get(item_id)
        said = repr((self.proposed[item_id], self.files[item_id])) + (repr(note) if note else "")
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    async def pending(self) -> int:
        self.counted += 1
        return sum(
            row.status == "pending" and not (row.snoozed_until and row.snoozed_until > NOW)
            for row in self.rows.values()
        )

    async def inbox(self, status: Status = "pending") -> tuple[ApprovalRow, ...]:
        if self.error is not None:
            raise self.error
        return tuple(row for row in self.rows.values() if row.status == status)

    async def review(self, item_id: str) -> ReviewSheet:
        if item_id not in self.rows:
            raise DomainError(f"There is no item {item_id}.")
        return self.sheet(item_id)

    def sheet(self, item_id: str) -> ReviewSheet:
        row = self.rows[item_id]
        is_lesson = row.kind in ("lesson", "promotion", "conflict")
        note = self.notes.get(item_id)
        flag = Flag(
            "injection", "content" if note else "rationale", "ignore all previous instructions"
        )
        near = Neighbour(
            "push-with-upstream",
            "Push with -u the first time",
            0.87,
            "conflict" if row.kind == "conflict" else "full",
        )
        authors = (("discovery", "model"), ("rationale", "model"))
        asked_by = f"agent {row.agent_id}" if note else "LessonCapture"
        has_file = row.kind not in ("prune", "write", "delete")
        return ReviewSheet(
            row,
            self._shown(item_id),
            proposed=self.proposed[item_id] if is_lesson else None,
            grounded=GROUNDED if is_lesson else None,
            authors=authors,
            occurrences=OCCURRENCES if is_lesson else (),
            flags=(flag,) * row.flags,
            neighbours=(near,) if is_lesson else (),
            path="/home/ada/.local/share/synthorg-tui/skills/set-upstream-first-push/SKILL.md"
            if has_file
            else "",
            diff=self.files[item_id] if has_file else (),
            replaces=tuple(f"Lesson {at} that nobody used" for at in range(7))
            if row.kind == "prune"
            else (),
            note=note,
            description=row.title,
            requested_by=asked_by,
            trail=(TrailEvent(row.created_at, "added", asked_by),),
        )

    def _check(self, item_id: str, shown: str) -> ApprovalRow:
        if shown != self._shown(item_id):
            raise StaleReview(self.sheet(item_id))
        row = self.rows[item_id]
        assert row.status == "pending"
        return row

    def _decide(self, row: ApprovalRow, status: str, what: Reworded | None) -> None:
        reason = what if isinstance(what, str) and status == "rejected" else ""
        self.rows[row.id] = replace(
            row, status=status, decided_at=NOW, decided_by="person (tui)", reason=reason
        )
        self.decided.append((row.id, status, what))

    async def approve(self, item_id: str, shown: str, edited: Reworded | None = None) -> str:
        self._decide(self._check(item_id, shown), "approved", edited)
        return "Approved · SKILL.md written · u takes it back"

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> Bulk:
        refused = []
        for item_id, shown in reviewed:
            try:
                await self.approve(item_id, shown)
            except StaleReview as stale:
                refused.append((item_id, f"{stale.sheet.row.title}: {stale.message}"))
        return Bulk(len(reviewed) - len(refused), tuple(refused))

    async def reject(self, item_id: str, shown: str, reason: str) -> str:
        self._decide(self._check(item_id, shown), "rejected", reason)
        return "Rejected · it is not proposed again"

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        self.rows[item_id] = replace(self.rows[item_id], snoozed_until=until)

    def listen(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    async def undo(self) -> str | None:
        if not self.decided:
            return None
        item_id, _, _ = self.decided.pop()
        row = self.rows[item_id]
        self.rows[item_id] = replace(
            row, status="pending", decided_at=None, decided_by="", reason=""
        )
        return f"Took back: {row.title}"
