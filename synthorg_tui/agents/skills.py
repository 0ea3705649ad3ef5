"""The skills that agents may read: those a person approved, word for word as approved."""

from synthorg_tui.agents.models import SkillCard, SkillNotFoundError
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry


class ApprovedSkillReader:
    """Hands out what the ledger keeps, never what lies on disk.

    A file that somebody changed or dropped into the folder is read by agents only once a person
    approved it. Skills of another agent's own scope are not on an agent's shelf.
    """

    def __init__(self, ledger: SkillRegistry) -> None:
        self._ledger = ledger

    async def cards(self, agent_id: str) -> tuple[SkillCard, ...]:
        """What there is for the agent, by name."""
        found = await self._readable(agent_id)
        return tuple([await self._card(found[name]) for name in sorted(found)])

    async def text(self, agent_id: str, name: str) -> str:
        """The SKILL.md of that name; raises ``SkillNotFoundError``."""
        record = (await self._readable(agent_id)).get(name)
        if record is None:
            raise SkillNotFoundError("no skill has this name", remedy="list_skills names them.")
        return await self._text(record)

    async def _card(self, record: RegisteredSkill) -> SkillCard:
        from synthorg_tui.skills.validate import parse  # here: a digest needs no skills

        document, _ = parse(await self._text(record), name=record.name)
        description = document.description if document else record.proposal.discovery
        return SkillCard(record.name, description, record.proposal.scope.value, record.sha256)

    async def _text(self, record: RegisteredSkill) -> str:
        return (await self._ledger.content(record.sha256)).decode("utf-8", "replace")

    async def _readable(self, agent_id: str) -> dict[str, RegisteredSkill]:
        """By name; of several, that of the agent itself."""
        found: dict[str, RegisteredSkill] = {}
        for record in await self._ledger.active():
            own = record.agent_id == agent_id
            shared = record.proposal.scope is not ProceduralMemoryScope.AGENT
            if record.sha256 and (own or (shared and record.name not in found)):
                found[record.name] = record
        return found
