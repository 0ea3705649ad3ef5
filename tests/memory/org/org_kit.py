"""Facts of an organisation, for tests."""

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest

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
