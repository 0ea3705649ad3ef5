"""Records of decisions in the forms that people's tools write."""

from synthorg_tui.organisation.adr import MAX_DECISION, DecisionRecord, read_records
from synthorg_tui.organisation.project_files import SourceFile, SourceFileKind, kind_of_file

NYGARD = """# 3. Keep a queue

Date: 2024-05-01

## Status

{status}

## Context

Calls came too fast.

## Decision

We will keep a queue.

## Consequences

Calls wait.
"""
MADR = """---
status: {status}
date: 2024-06-02
decision-makers: Ada
---

# Use DuckDB for facts

## Context and Problem Statement

Where do facts go?

## Considered Options

* DuckDB
* Files

## Decision Outcome

Chosen option: "DuckDB", because it is one file.

### Consequences

* Good, because it is quick.

## Pros and Cons of the Options

None.
"""
LOG4BRAINS = """# Take tabs

- Status: {status}
- Date: 2024-07-03
- Tags: style

## Decision

Tabs it is.
"""


def records(**texts: str) -> dict[str, DecisionRecord]:
    files = [
        SourceFile(f"docs/adr/{name.lstrip('_').replace('_', '-')}.md", SourceFileKind.ADR, text)
        for name, text in texts.items()
    ]
    return {record.path.removeprefix("docs/adr/"): record for record in read_records(files)}


def one(text: str, name: str = "_0003_keep_a_queue") -> DecisionRecord:
    (record,) = records(**{name: text}).values()
    return record


def test_nygards_form_is_read() -> None:
    record = one(NYGARD.format(status="Accepted"))
    assert (record.title, record.status, record.date) == ("Keep a queue", "accepted", "2024-05-01")
    assert (record.text, record.source) == (
        "We will keep a queue.",
        "docs/adr/0003-keep-a-queue.md#L15",
    )
    assert record.content == "Keep a queue\n\nWe will keep a queue."


def test_madr_with_fields_is_read_up_to_its_consequences() -> None:
    record = one(MADR.format(status="proposed"))
    assert (record.title, record.status) == ("Use DuckDB for facts", "proposed")
    assert record.date == "2024-06-02"
    assert record.text == 'Chosen option: "DuckDB", because it is one file.'


def test_log4brains_lists_status_and_date_below_the_title() -> None:
    record = one(LOG4BRAINS.format(status="accepted"), "_20240703_take_tabs")
    assert (record.status, record.date, record.text) == ("accepted", "2024-07-03", "Tabs it is.")


def test_status_and_date_may_share_a_line() -> None:
    record = one("# 0004: Stay\n\nDate: 2024-05-01. Status: accepted.\n\nWe stay.\n", "_0004_stay")
    assert (record.title, record.status, record.date) == ("Stay", "accepted", "2024-05-01")
    assert record.text == "We stay."


def test_links_are_resolved_in_both_directions() -> None:
    found = records(
        _0003_keep_a_queue=NYGARD.format(
            status="Superseded by [9. No queue](0009-no-queue.md#decision)"
        ),
        _0009_no_queue=NYGARD.format(status="Accepted"),
    )
    assert found["0009-no-queue.md"].supersedes == ("docs/adr/0003-keep-a-queue.md",)
    old = found["0003-keep-a-queue.md"]
    assert (old.status, old.superseded_by) == ("superseded", ("docs/adr/0009-no-queue.md",))


def test_a_record_is_named_by_number_as_well() -> None:
    found = records(
        _0003_keep_a_queue=NYGARD.format(status="Accepted"),
        _0009_use_duckdb=MADR.format(status="accepted\nsupersedes: ADR-0003"),
    )
    assert found["0009-use-duckdb.md"].supersedes == ("docs/adr/0003-keep-a-queue.md",)


def test_words_in_the_title_of_a_link_are_no_link() -> None:
    found = records(
        _0003_keep_a_queue=NYGARD.format(
            status="Accepted\n\nAmends [9. What superseded records look like](0009-look.md)"
        ),
        _0009_look=NYGARD.format(status="Accepted"),
    )
    assert [record.supersedes for record in found.values()] == [(), ()]


def test_a_record_that_is_not_there_is_told() -> None:
    record = one(NYGARD.format(status="Superseded by ADR-0042"))
    assert (record.superseded_by, record.unresolved) == ((), ("42",))


def test_a_circle_of_records_is_read() -> None:
    found = records(
        _0001_a=NYGARD.format(status="Superseded by [b](0002-b.md)"),
        _0002_b=NYGARD.format(status="Superseded by [a](0001-a.md)"),
    )
    assert found["0001-a.md"].supersedes == ("docs/adr/0002-b.md",)


def test_what_is_no_record_is_left_out() -> None:
    assert records(README="# Decisions\n\n- [one](0001.md)\n", template=NYGARD, notes="Hm.\n") == {}


def test_a_long_decision_is_cut() -> None:
    record = one(f"# Long\n\n## Decision\n\n{'so ' * MAX_DECISION}\n")
    assert len(record.text) == MAX_DECISION


def test_folders_of_records_are_known_by_their_place() -> None:
    for path in (
        *("docs/adr/0001-a.md", "doc/adr/0001-a.md", "adr/0001-a.md", "docs/decisions/0001-a.md"),
        *("architecture/decisions/a.md", "docs/architecture/decisions/a.md", "web/docs/adr/a.md"),
    ):
        assert kind_of_file(path) is SourceFileKind.ADR, path
    assert kind_of_file("src/decisions/tree.md") is None
