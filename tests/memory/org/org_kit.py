"""Facts of an organisation, for tests."""

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.log import all_rows
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor, OrgFactWriteRequest
from synthorg_tui.memory.org.store import OrgStore

PERSON = OrgFactAuthor(is_human=True)
SENIOR = OrgFactAuthor(agent_id="coder", seniority=SeniorityLevel.SENIOR)
JUNIOR = OrgFactAuthor(agent_id="intern", seniority=SeniorityLevel.JUNIOR)


def fact(
    content: str = "We deploy on Mondays.",
    category: OrgFactCategory = OrgFactCategory.CONVENTION,
    tags: tuple[str, ...] = (),
) -> OrgFactWriteRequest:
    return OrgFactWriteRequest(content=content, category=category, tags=tags)


def publish(
    request: OrgFactWriteRequest,
    fact_id: str | None = None,
    *,
    author: OrgFactAuthor = PERSON,
    expected: int | None = None,
) -> OrgChange:
    return OrgChange(
        kind=OrgChangeKind.PUBLISH,
        author=author,
        fact_id=fact_id,
        request=request,
        expected_version=expected,
    )


def retract(
    fact_id: str, *, author: OrgFactAuthor = PERSON, expected: int | None = None
) -> OrgChange:
    return OrgChange(
        kind=OrgChangeKind.RETRACT, author=author, fact_id=fact_id, expected_version=expected
    )


async def ever_written(store: OrgStore) -> tuple[OrgFact, ...]:
    """All facts, the newest first, retracted ones included."""
    rows = await store.core.read(lambda db: all_rows(db, retracted=True))
    return tuple(row.fact() for row in rows)


async def in_force(store: OrgStore, fact_id: str) -> OrgFact | None:
    found = await store.matching(None)
    return next((each for each in found if each.id == fact_id), None)
