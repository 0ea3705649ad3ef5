"""``sessions list``: the imported sessions by project and agent, with what happened in each."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import PROJECT, SINCE, UNTIL, Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import Answer, Console, Line, Note, Parts, View, cut, local_time
from synthorg_tui.cli.records import Json, fields
from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.projects import same_project
from synthorg_tui.core.text import counted, size

if TYPE_CHECKING:
    from synthorg_tui.executions.forgotten import AgedSessions
    from synthorg_tui.executions.sessions import StoredSession

MAX_LISTED: Final = 10_000
_SHORT_ID: Final = 8
"""Characters after the reader's name that a listed id has at least."""
_ID_WIDTH: Final = 24
"""Columns of indentation and id, for most ids."""
_WIDE: Final = 100
"""Columns of a terminal from which on outcomes and subagents are told in words."""
_AGES: Final = ((7, "of the last 7 days"), (30, "of 30 days"), (90, "of 90 days"))


@dataclass(frozen=True, slots=True)
class SessionFamily:
    """A session of a person with those of the subagents that it started, and theirs."""

    root: "StoredSession"
    parts: tuple["StoredSession", ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all of them in the store."""
        return self.root.size + sum(part.size for part in self.parts)

    @property
    def branches(self) -> int:
        """How many of the parts are forks and copies, rather than subagents."""
        return sum(part.branch_of is not None for part in self.parts)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of its parts."""
        return {"subagents": len(self.parts) - self.branches, "branches": self.branches}

    @property
    def told(self) -> str:
        """The numbers of its parts in words; empty without any."""
        counts = self.counts
        subagents = counted(counts["subagents"], "subagent") if counts["subagents"] else ""
        branches = counted(counts["branches"], "branch", "branches") if self.branches else ""
        return ", ".join(filter(None, (subagents, branches)))


@Command(
    "list",
    "list imported sessions, the latest first, with what happened and their size",
    more="Sessions\nof subagents are counted with the one that started them.",
    examples=(
        "sessions list --project . --since 7d",
        "sessions list upload retry --outcome failed",
        "sessions list --agent codex --limit 5 --json",
    ),
    arguments=(
        Argument("words", nargs="*", metavar="WORD", help="only with all these in the title"),
        Argument("--agent", metavar="ID", help="only this one's"),
        Argument("--project", metavar="NAME", help=f"only of this one, or below it: {PROJECT}"),
        SINCE,
        UNTIL,
        Argument(
            "--outcome",
            choices=[each.value for each in ExecutionOutcome],
            help="only that ended so",
        ),
        Argument("--subagents", action="store_true", help="list theirs and branches, too"),
        limit(20, most=MAX_LISTED),
    ),
).asks
async def list_sessions(context: Context, engine: AnyEngine) -> Answer:
    """List the imported sessions, and how much all of them take."""
    sessions = await engine.sessions.list()
    aged = await engine.sessions.aged()
    args = context.args
    project = await project_named(engine, args.project) if args.project else None
    families = [family for family in families_of(sessions) if _fits(family, args, project)]
    shown = families[: args.limit]
    none = "No sessions; they come with `synthorg-tui import`."
    if sessions:
        none = f"None of {counted(len(sessions), 'session')} is like that."
    return Answer(
        _result(shown, families, aged, with_parts=args.subagents),
        [
            "" if families else none,
            _list_view(shown, short_ids([each.id for each in sessions]), args.subagents),
            _sizes_note(shown, families) if families else "",
            _aged_note(aged) if aged.latest is not None else "",
        ],
    )


def families_of(sessions: "Sequence[StoredSession]") -> list[SessionFamily]:
    """Return the sessions by the one that started them, in the order in which those are given."""
    by_id = {session.id: session for session in sessions}
    parts: dict[str, list[StoredSession]] = {}
    roots = []
    for session in sessions:
        root, seen = session, {session.id}
        while root.above in by_id and root.above not in seen:
            root = by_id[root.above]
            seen.add(root.id)
        if root is session:
            roots.append(session)
        else:
            parts.setdefault(root.id, []).append(session)
    return [SessionFamily(root, tuple(parts.get(root.id, ()))) for root in roots]


def session_shape(session: "StoredSession") -> Json:
    """Return a session as JSON."""
    return fields(
        session,
        "id agent_id model project path parent_id branch_of started_at ended_at outcome lines"
        " calls failures files bytes=size title",
    )


def _heading(family: SessionFamily) -> str:
    project = short_path(family.root.project or "no project")
    return " · ".join(filter(None, (project, family.root.agent_id)))


def _list_view(shown: Sequence[SessionFamily], ids: dict[str, str], with_parts: bool) -> View:
    """The sessions; project and agent stand above the first one that has them."""
    return [
        (
            Line(heading, "bold"),
            [
                (
                    _session_view(
                        family.root, ids, SessionFamily(family.root) if with_parts else family
                    ),
                    [
                        _session_view(part, ids, SessionFamily(part), indent="    ")
                        for part in (family.parts if with_parts else ())
                    ],
                )
                for family in families
            ],
        )
        for heading, families in groupby(shown, _heading)
    ]


def _session_view(
    session: "StoredSession", ids: dict[str, str], family: SessionFamily, *, indent: str = "  "
) -> View:
    from synthorg_tui.cli.session_text import outcome_mark

    glyph, style = outcome_mark(session.outcome)
    before = f"{indent}{_short_time(session.latest):<11}  {ids[session.id]}".ljust(_ID_WIDTH + 13)
    taken = f"{size(session.size):>8}  "

    def row(console: Console) -> View:
        is_narrow = console.width < _WIDE
        more = f"  +{len(family.parts)}" if is_narrow else f"  (+{family.told})"
        more = more if family.parts else ""
        state = f"{glyph}  " if is_narrow else f"{glyph} {session.outcome.value:<11}  "
        room = max(20, console.width - len(f"{before}  {state}{taken}{more}"))
        title = cut(session.title, room)
        row = [(f"{before}  ", "dim"), (state, style), (taken, "dim"), (title,), (more, "dim")]
        return Parts(row, separator="")

    return row


def _sizes_note(shown: Sequence[SessionFamily], families: Sequence[SessionFamily]) -> View:
    """How many sessions there are, and what they take by age."""
    parts = tuple(part for family in families for part in family.parts)
    of_parts = f" with {SessionFamily(families[0].root, parts).told}" if parts else ""
    first = f"{len(shown):,} of " if len(shown) < len(families) else ""
    taken = size(sum(family.size for family in families))
    ages = ", ".join(f"{size(stored)} {age}" for age, stored in _sizes(families).items() if stored)
    return Note(
        f"{first}{counted(len(families), 'session')}{of_parts}, {taken} in the store: {ages}"
    )


def _aged_note(aged: "AgedSessions") -> View:
    """How many sessions age has deleted."""
    return Note(
        f"{counted(aged.count, 'session')} deleted by age (memory.storage.max_session_days), "
        f"the last on {local_time(aged.latest)[:10]}; imports don't bring them back"
    )


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return each id cut to its first characters, as many as it takes to tell them apart.

    Of a subagent's, the part before the slash is cut.
    """
    short: dict[str, str] = {}
    ordered = sorted({each.partition("/")[0] for each in ids})
    for before, each, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shared = max(_shared(each, before), _shared(each, after))
        least = each.find(":") + 1 + _SHORT_ID
        short[each] = each[: max(shared + 1, least)]
    parted = (each.partition("/") for each in ids)
    return {f"{root}{slash}{part}": f"{short[root]}{slash}{part}" for root, slash, part in parted}


def _shared(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _fits(family: SessionFamily, args: Namespace, project: str | None) -> bool:
    root = family.root
    members = (root, *family.parts)
    titles = " ".join(session.title for session in members).lower()
    return (
        args.agent in (None, *(session.agent_id for session in members))
        and (project is None or same_project(project, root.project))
        and _is_between(root.latest, args.since, args.until)
        and args.outcome in (None, root.outcome.value)
        and all(word.lower() in titles for word in args.words)
    )


def _is_between(moment: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if moment is None:
        return since is None and until is None
    return (since is None or moment >= since) and (until is None or moment < until)


def _short_time(moment: datetime | None) -> str:
    """A time of this year without the year, another one without the hour."""
    told = local_time(moment)
    return told[5:] if told.startswith(f"{datetime.now().astimezone().year}-") else told[:10]


def _sizes(families: Sequence[SessionFamily]) -> dict[str, int]:
    """The bytes in the store by how long ago a session ended."""
    now = datetime.now(UTC)
    sizes = dict.fromkeys([*(name for _, name in _AGES), "older", "without a time"], 0)
    for family in families:
        name = "without a time"
        if (latest := family.root.latest) is not None:
            days = (now - latest).total_seconds() / 86_400
            name = next((name for most, name in _AGES if days <= most), "older")
        sizes[name] += family.size
    return sizes


def _result(
    shown: Sequence[SessionFamily],
    families: Sequence[SessionFamily],
    aged: "AgedSessions",
    *,
    with_parts: bool,
) -> Json:
    listed = [
        session_shape(session) | (SessionFamily(session) if part else family).counts
        for family in shown
        for part, session in enumerate((family.root, *(family.parts if with_parts else ())))
    ]
    return {
        "sessions": listed,
        "total": len(families),
        "bytes": sum(family.size for family in families),
        "bytes_by_age": _sizes(families),
        "deleted_by_age": aged.count,
    }
