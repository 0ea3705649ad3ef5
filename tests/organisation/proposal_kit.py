"""Writes to organisation memory as tests propose them."""

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.curation.review import OrgPayload
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest

RULE = "Run the linter before you push."
ADA = OrgFactAuthor(agent_id="ada", seniority=SeniorityLevel.SENIOR)


def publish(
    content: str = RULE,
    *,
    category: OrgFactCategory = OrgFactCategory.CONVENTION,
    tags: tuple[str, ...] = (),
    fact_id: str | None = None,
    version: int | None = None,
    author: OrgFactAuthor = ADA,
) -> OrgChange:
    request = OrgFactWriteRequest(content=content, category=category, tags=tags)
    return OrgChange(
        kind=OrgChangeKind.PUBLISH,
        author=author,
        fact_id=fact_id,
        request=request,
        expected_version=version,
    )


def retract(fact_id: str, version: int | None = None) -> OrgChange:
    return OrgChange(
        kind=OrgChangeKind.RETRACT, author=ADA, fact_id=fact_id, expected_version=version
    )


def payload(*changes: OrgChange, why: str = "it broke twice") -> OrgPayload:
    return OrgPayload(changes=changes or (publish(),), why=why)
