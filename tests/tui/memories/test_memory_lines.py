"""The rows and groups of the Memories pane, as text."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from synthorg_tui.core.enums import CallOutcome, MemoryCategory
from synthorg_tui.ingest.service import ImportReport
from synthorg_tui.memory.listing import SHARED_OWNER, BrowseFilter, Facets, ListedMemory
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


KNOWN = replace(
    ROW,
    agent_id=SHARED_OWNER,
    content="shop: Test with `make test` (17 of 22 runs passed)",
    tags=("knowledge", "commands", "shop"),
    project="/home/ada/shop",
)


def test_what_is_known_has_its_letter_and_says_its_project_once() -> None:
    under = memory_line(KNOWN, 80, now=NOW, marked=False, shows=(False, False), under="shop")
    assert under.plain.startswith(" K Test with `make test`")
    alone = memory_line(KNOWN, 80, now=NOW, marked=False)
    assert alone.plain.startswith(" K shop: Test with `make test`")
    elsewhere = memory_line(replace(KNOWN, content="shop: x"), 80, now=NOW, marked=False, under="a")
    assert elsewhere.plain.startswith(" K shop: x")


def test_what_belongs_to_everybody_is_told_as_of_all_agents() -> None:
    assert "all agents" in memory_line(KNOWN, 80, now=NOW, marked=False).plain
    facets = Facets(((SHARED_OWNER, 10), ("ada", 2)), ((MemoryCategory.SEMANTIC, 12),), 10)
    groups = facet_lines(facets, 30, chosen=BrowseFilter())
    assert [value for value, _ in groups if value] == [("agent:", "all agents"), ("agent:", "ada")]
    plain = "\n".join(line.plain for _, line in groups)
    assert "all agents" in plain
    assert "full" not in plain, "it takes no room of any agent"
    assert facets.named_agents == ("ada",)
