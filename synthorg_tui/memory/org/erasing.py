"""Takes words out of organisation memory for good: secrets, and facts that a person erases.

The log is append-only so that nobody's word can be changed afterwards; words that must not be
stored at all are the exception. Every line stays with its time, version and author, and says that
something was here: a secret becomes its marker, an erased text ``ERASED``. Both run in the
transaction that takes the same words out of other tables, and the file is written anew after it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from synthorg_tui.memory.org.log import (
    ERASED,
    FactRow,
    log_rows,
    put,
    rows_of_ids,
    stored_tags,
    tags_of,
)
from synthorg_tui.memory.org.models import OrgFactAuthor
from synthorg_tui.memory.org.store import OrgAct, carry_out, retractions
from synthorg_tui.persistence.call_log import erase_from_calls

if TYPE_CHECKING:
    from synthorg_tui.memory.store.writes import Changes

_NO_TAGS = "[]"


def erase_facts(changes: "Changes", ids: Sequence[str], *, actor: str) -> tuple[str, ...]:
    """Erase the texts and tags of the facts among ``ids``; return the ids of those.

    An active one is retracted. The record of agents' calls that carried them loses its texts.
    """
    rows = rows_of_ids(changes.db, ids)
    if not rows:
        return ()
    active = retractions(rows.values(), OrgFactAuthor(is_human=True))
    carry_out(changes, active, {}, act=OrgAct(actor, is_decision=True))
    said = log_rows(changes.db, "fact_id IN (SELECT unnest(?::UUID[]))", [list(rows)])
    erase_from_calls(changes.db, list(rows), {line.content for line in said if line.content})
    changes.db.execute(
        "UPDATE org_operations SET tags = ?, content = CASE WHEN content IS NULL THEN NULL "
        "ELSE ? END WHERE fact_id IN (SELECT unnest(?::UUID[]))",
        [_NO_TAGS, ERASED, list(rows)],
    )
    found = rows_of_ids(changes.db, list(rows)).values()
    _replace(changes, [row._replace(content=ERASED, tags=_NO_TAGS) for row in found])
    return tuple(rows)


def redact_facts(changes: "Changes", clean: Callable[[str], str]) -> int:
    """Replace what ``clean`` makes another text of in facts and their log; return in how many."""
    found = []
    for line in log_rows(changes.db, "TRUE", []):
        content, tags = line.content and clean(line.content), _clean_tags(line.tags, clean)
        after = line._replace(content=content, tags=tags, actor=clean(line.actor))
        if after != line:
            found.append(after)
    for line in found:
        changes.db.execute(
            "UPDATE org_operations SET content = ?, tags = ?, actor = ? "
            "WHERE operation_id = ?::UUID",
            [line.content, line.tags, line.actor, line.operation_id],
        )
    rows = rows_of_ids(changes.db, list(dict.fromkeys(line.fact_id for line in found)))
    _replace(
        changes,
        [
            row._replace(content=clean(row.content), tags=_clean_tags(row.tags, clean))
            for row in rows.values()
        ],
    )
    return len(rows)


def _replace(changes: "Changes", rows: Sequence[FactRow]) -> None:
    """Write facts whose words were taken out; all their lines get new revisions, in order.

    A revision stands for what a fact was after it, which is something else now.
    """
    if not rows:
        return
    for row in rows:
        first, changes.revision = changes.revision + 1, changes.revision + row.version
        changes.db.execute(
            "UPDATE org_operations SET revision = ? + version - 1 WHERE fact_id = ?::UUID",
            [first, row.fact_id],
        )
        put(changes.db, [row._replace(revision=changes.revision)], known=[row.fact_id])
    ids = [row.fact_id for row in rows]
    changes.remove_vectors(ids)
    changes.touched.extend(ids)
    changes.unembedded = True
    changes.note_redacted()


def _clean_tags(stored: str, clean: Callable[[str], str]) -> str:
    before = tags_of(stored)
    after = tuple(map(clean, before))
    return stored if after == before else stored_tags(after)
