"""docs/coverage.md is true: what it names is where it says, and it names what the documents do."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent
PAGE = (REPO / "docs" / "coverage.md").read_text("utf-8")
CAPITALS = r"\b(?:[A-Z][a-z0-9]+){2,}[A-Za-z0-9]*\b|\b[A-Z]{2,}[a-z]+[A-Za-z]*\b"
CAMELS = r"\b[A-Z]\w*[a-z][A-Z]\w*\b"
SNAKES = r"\b[a-z]+(?:_[a-z0-9]+)+\b"

WORDS = (
    # Products, libraries, Python's own names and plain words.
    "SQLite URLs IDs PRs UUIDs CPython NeMo EvoSkill SynthOrg FalkorDB GraphRAG PostgreSQL InfoNCE "
    "OrgMem ADRs AwareDatetime BaseModel ConfigDict ExceptionGroup MappingProxyType StrEnum "
    "TaskGroup ChatMessages ClassVars NotImplementedError RecursionError RuntimeError TypeError "
    "ValueError snake_case "
    # Files of the reference, variables of its formulas and examples.
    "agent_state cost_record preset_service app_state fine_tune_plan success_proposer rank_i "
    "age_hours max_sim max_sim_to_selected min_agents_for_pattern recovery_result source_agent_id "
    "company_a_backend company_a_config company_b_backend company_b_config domain_errors "
    "fine_tuning training_data to_remove "
    # Words that lost the space between them.
    "ContextInjectionStrategylevel EXISTSguards Mem0EmbedderConfigto NotBlankStrlist_policies "
    "PROCEDURALentry QueryReformulatorandSufficiencyCheckerprotocols callsapply_schema "
    "configurablerrf_ksmoothing min_relevancefilter min_relevancethreshold oncombined_score "
    "search_memoryandrecall_memory search_memoryrequests skill_md_directoryis forbidallow_inf_nan "
    "viaquery_reformulation_enabledconfig andcombined_scoreis pluspersonal_boost recency_scoreis "
    "relevance_scoreis relevance_scorepreserves"
)
"""What looks like a name in the documents and is none."""


def rows(columns: int) -> Iterator[tuple[str, ...]]:
    """The rows of all tables with so many columns, without their heads."""
    for line in PAGE.splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("| `") and len(cells) == columns:
            yield cells


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def text_of(where: str) -> str:
    root = REPO if where.startswith("config/") else REPO / "synthorg_tui"
    return (root / where).read_text("utf-8")


def room_of(where: str) -> str:
    """All of the folder that a file is in: what a class inherits is there, mostly."""
    folder = (REPO / "synthorg_tui" / where).parent
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.py")))


PRESENT = [(documented, where) for documented, where, _ in rows(3)]
MEMBERS = [(where, members) for _, where, members in rows(3) if members]
RENAMED = [(here, where) for _, here, where, _ in rows(4)]


def test_what_the_page_names_is_in_the_file_it_says() -> None:
    absent = [
        (name, file)
        for cell, where in chain(PRESENT, RENAMED)
        for name in names(cell)
        for file in names(where)
        if not re.search(rf"\b{name}\b", text_of(file)) and name != Path(file).stem
    ]
    assert absent == []


def test_what_a_class_is_said_to_have_is_in_its_room() -> None:
    absent = [
        (name, file)
        for where, members in MEMBERS
        for file in names(where)
        for name in names(members)
        if not re.search(rf"\b{name}\b", room_of(file))
    ]
    assert absent == []


def test_what_is_not_built_is_not_there() -> None:
    """Who builds it moves its row."""
    sources = "\n".join(
        path.read_text("utf-8") for path in sorted((REPO / "synthorg_tui").rglob("*.py"))
    )
    built = [
        name for cell, _ in rows(2) for name in names(cell) if re.search(rf"\b{name}\b", sources)
    ]
    assert built == []


def test_every_name_has_one_row() -> None:
    listed = [name for columns in (2, 3, 4) for cell, *_ in rows(columns) for name in names(cell)]
    assert sorted(listed) == sorted(set(listed))


def test_no_name_of_the_documents_is_left_out(shared_dir: Path) -> None:
    spec = shared_dir / "spec"
    documents = [*sorted((spec / "seeds").glob("*.txt")), spec / "behaviours.md"]
    if not documents[-1].exists():
        pytest.skip(f"no documents at {spec}")
    wanted = set(
        chain.from_iterable(
            re.findall(f"{CAPITALS}|{CAMELS}|{SNAKES}", document.read_text("utf-8"))
            for document in documents
        )
    )
    assert wanted - set(names(PAGE)) - set(WORDS.split()) == set()
