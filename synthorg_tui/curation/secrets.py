"""Secrets in what is stored already: finds them in every table, and redacts them everywhere.

What comes in is redacted before it is stored; this is for what came in before a kind of secret was
known. Rows change in one transaction. Then memories are embedded anew and the file is compacted;
both go on where they were after a crash. Files of a person are named, not rewritten.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from synthorg_tui.approvals import rows as approvals
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.curation import registry
from synthorg_tui.executions.facts import outdated
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.texts import TextChange, TextColumn, find_changes, text_columns, write

_log = logging.getLogger(__name__)

APPROVED: Final = "the approved text of a skill: edit the file and approve it again"
COPY: Final = "a copy of an earlier state, not searched: delete it when you don't need it"
KEY: Final = "it tells rows apart"

_BY_THE_STORE: Final = ("memories", "org_facts", "org_operations")
"""Tables that the store redacts itself, since the index follows them."""
_BYTES: Final = "skill_bytes"
_SHORT: Final = 60
"""Characters up to which a text may grow by a marker: limits of stored texts are longer."""


@dataclass(frozen=True, slots=True)
class StoredSecrets:
    """How many secrets of each kind a table holds; their text is nowhere in it."""

    table: str
    kinds: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of all secrets in the table."""
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class SecretReport:
    """The secrets in a store by table, and pairs of what isn't rewritten with the reason.

    ``redacted`` is whether those in ``tables`` have been taken out. ``pending`` says in words what
    a redaction couldn't finish.
    """

    tables: tuple[StoredSecrets, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    redacted: bool = False
    pending: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Number of all secrets in the tables."""
        return sum(table.total for table in self.tables)


@dataclass(slots=True)
class _Search:
    """One pass over all tables: what was counted, what is to be written."""

    tallies: dict[str, RedactionTally] = field(default_factory=dict)
    changes: list[TextChange] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def clean(self, column: TextColumn) -> Callable[[str], str]:
        """Return the function that redacts texts of a column and counts for its table."""
        tally = self.tallies.setdefault(column.table, RedactionTally())
        return lambda text: _clean(text, tally)

    def run(self, db: Connection) -> None:
        columns = text_columns(db)
        found = find_changes(db, columns, self.clean)
        keys = {(column.table, column.name) for column in columns if column.is_key}
        for change in found:
            if change.table == _BYTES:
                sql = "SELECT sha256 FROM skill_bytes WHERE rowid = ?"
                row = db.execute(sql, [change.row]).fetchone()
                paths = registry.paths_with(db, row[0] if row else "")
                self.left += [(path, APPROVED) for path in paths]
                continue
            values = tuple(pair for pair in change.values if (change.table, pair[0]) not in keys)
            self.left += [
                (f"{change.table}.{name}", KEY)
                for name, _ in change.values
                if (change.table, name) in keys
            ]
            if values:
                self.changes.append(TextChange(change.table, change.row, values))

    def report(self, *, redacted: bool = False, copies: tuple[Path, ...] = ()) -> SecretReport:
        tables = [
            StoredSecrets(table, dict(sorted(tally.kinds.items())))
            for table, tally in sorted(self.tallies.items())
            if tally.total
        ]
        found_any = copies if tables else ()
        left = dict.fromkeys([*self.left, *((str(path), COPY) for path in found_any)])
        return SecretReport(tuple(tables), tuple(left), redacted)


class SecretSearch:
    """Looks for secrets in all that a data directory stores, and redacts them.

    Args:
        local: Every table of its database is searched, and copies beside its file; its memories are
            rewritten, with what is derived from them.
        maintenance: Embeds and compacts afterwards.
        clock: Decides what "now" is.
    """

    def __init__(self, local: LocalMemoryBackend, maintenance: Maintenance, clock: Clock) -> None:
        self._database = local.core.database
        self._store = local.admin
        self._maintenance = maintenance
        self._clock = clock

    async def search(self) -> SecretReport:
        """Count the secrets in every table by kind; changes nothing."""
        search = _Search()
        await self._database.read(search.run)
        return search.report(copies=self._copies())

    async def redact(self, *, actor: str) -> SecretReport:
        """Take the secrets out of every table, in one transaction, and return what was found.

        Lines of append-only logs stay, with a marker for each secret: that it isn't stored counts
        more than the bytes of a line. Memories that had some are embedded anew, and the file is
        compacted. What of that fails is in the report's ``pending`` and is caught up by
        ``doctor --fix`` or at closing.
        """
        search = _Search()

        def within(db: Connection) -> None:
            search.run(db)
            others = [change for change in search.changes if change.table not in _BY_THE_STORE]
            # Asked before they are written: on a server a row is elsewhere afterwards.
            items = [_item_id(db, change.row) for change in others if change.table == "approvals"]
            for change in others:
                write(db, outdated(change))
            approvals.record_redaction(db, items, at=self._clock.now(), actor=actor)

        spare = RedactionTally()
        await self._store.redact_together(lambda text: _clean(text, spare), within, actor=actor)
        report = search.report(redacted=True, copies=self._copies())
        return report if not report.tables else await self._finish(report)

    async def _finish(self, report: SecretReport) -> SecretReport:
        pending = []
        for what, job in (
            ("memories wait for embedding", self._maintenance.reembed),
            ("the old text may still be in the database file", self._maintenance.compact),
        ):
            try:
                await job()
            except (DomainError, OSError) as error:
                _log.warning("%s: %s", what, error)
                pending.append(f"{what}: {error}")
        return SecretReport(report.tables, report.left, report.redacted, tuple(pending))

    def _copies(self) -> tuple[Path, ...]:
        """Copies of the database made by a backup or a restore."""
        aside = self._database.path.parent.glob(f"{DATABASE_FILE}.replaced-*")
        return (*sorted((self._database.path.parent / BACKUP_DIR).glob("*.duckdb")), *sorted(aside))


def _item_id(db: Connection, row: int) -> str:
    found = db.execute("SELECT id FROM approvals WHERE rowid = ?", [row]).fetchone()
    return str(found[0]) if found else ""


def _clean(text: str, tally: RedactionTally) -> str:
    """Return a text, which may be JSON, without its secrets; the same where there are none."""
    if text[:1] not in ("{", "["):
        return redact_text(text, tally)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redact_text(text, tally)
    before = tally.total
    clean = redact_value(value, tally, raw=text)
    if tally.total == before:
        return text
    return json.dumps(_fitted(value, clean), ensure_ascii=False, separators=(",", ":"))


def _fitted(before: object, after: object) -> object:
    """Cut what a marker made longer, so that stored limits of length still hold."""
    if isinstance(before, str) and isinstance(after, str):
        return after[: max(len(before), _SHORT)]
    if isinstance(before, dict) and isinstance(after, dict) and len(before) == len(after):
        pairs = zip(before.values(), after.items(), strict=True)
        return {key: _fitted(old, new) for old, (key, new) in pairs}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_fitted(old, new) for old, new in zip(before, after, strict=True)]
    return after
