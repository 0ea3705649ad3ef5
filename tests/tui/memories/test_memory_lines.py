"""The rows and groups of the Memories pane, as text."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from synthorg_tui.core.enums import CallOutcome, MemoryCategory
from synthorg_tui.ingest.service import ImportReport
from synthorg_tui.memory.listing import BrowseFilter, Facets, ListedMemory
from synthorg_tui.tui.memories.lines import facet_lines, memory_line, report_lines

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
ROW = ListedMemory("m1", "ada", MemoryCategory.SEMANTIC, "Push with -u.", NOW - timedelta(days=3))


@pytest.mark.parametrize(("seconds", "age"), [(1, "3d"), (0, "exp.")])
def test_a_row_says_from_when_on_it_is_expired(seconds: int, age: str) -> None:
    row = replace(ROW, expires_at=NOW + timedelta(seconds=seconds))
    assert memory_line(row, 60, now=NOW, marked=False).plain.endswith(age)


@pytest.mark.parametrize(
    ("limit", "shown"), [(None, "ada 10"), (11, "ada 10"), (10, "ada full 10")]
)
def test_an_agent_that_can_store_no_more_is_marked(limit: int | None, shown: str) -> None:
    facets = Facets((("ada", 10),), ((MemoryCategory.SEMANTIC, 10),), limit)
    plain = facet_lines(facets, 30, chosen=BrowseFilter())[-1][1].plain
    assert " ".join(plain.split()).endswith(shown)


@pytest.mark.parametrize("refused", [0, 4])
def test_an_import_says_whose_memory_is_full(refused: int) -> None:
    full = ("ada",) if refused else ()
    report = ImportReport(
        memories_refused=refused, full_agents=full, calls=dict.fromkeys(CallOutcome, 0)
    )
    plain = "\n".join(line.plain for line in report_lines(report))
    assert ("4  not stored" in plain) is bool(refused)
    assert ("ada: full" in plain) is bool(refused)
