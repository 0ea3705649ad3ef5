"""Who may decide what, as the settings say it; asked where decisions are written.

Without roles the person may decide everything. With roles, who isn't named in them decides nothing.
The name is that of the settings or the login name: whoever can write the database or these settings
can also give himself another one. This keeps colleagues from deciding by mistake, not an attacker.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from synthorg_tui.approvals import ANYBODY, ApprovalsConfig, DecisionRole
from synthorg_tui.approvals.models import ApprovalItem, DecisionRefusedError
from synthorg_tui.approvals.person import Person, Policy, user_name
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.text import counted

_UNNAMED: Final = "person"
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class DecisionSubject:
    """What roles are about: whose a proposal is, and for whom; empty where there is none."""

    agent_id: str = ""
    scope: str = ""

    @classmethod
    def of(cls, item: ApprovalItem) -> "DecisionSubject":
        """Read the facts that lists of items show."""
        return cls(item.metadata.get("agent", ""), item.metadata.get("scope", ""))


class DecisionRights:
    """The rights of the person at this program.

    Args:
        config: The roles, and what the person is called.
        department_of: Returns an agent's department, ``None`` when unknown.
        is_shared: Whether others have the same store open: then decisions bear a name.
    """

    def __init__(
        self,
        config: ApprovalsConfig,
        department_of: Callable[[str], str | None] = lambda _: None,
        *,
        is_shared: bool = False,
    ) -> None:
        self._roles = config.roles
        self._name = config.person
        self._department_of = department_of
        self._is_shared = is_shared

    @property
    def names_people(self) -> bool:
        """Whether decisions are recorded with a name, since several people take them."""
        return self._is_shared or bool(self._roles) or self._name is not None

    def named(self, person: Person) -> Person:
        """Return the person with the name that is recorded."""
        name = self._name
        if name is None and self.names_people and person.name == _UNNAMED:
            name = user_name()
        return person if name is None else replace(person, name=name)

    def own_actors(self) -> tuple[str, ...]:
        """How the person's own decisions are recorded; empty where all are one person's."""
        if not self.names_people:
            return ()
        name = self._name or user_name()
        return tuple(str(Actor(kind, name)) for kind in (ActorKind.APP, ActorKind.TERMINAL))

    def refusal(self, about: DecisionSubject) -> str:
        """Return why the person here may not decide about this, and who may; empty if he may."""
        return self._refusal(self._name or user_name(), about)

    def require(self, person: Person | Policy, about: DecisionSubject) -> None:
        """Raise ``DecisionRefusedError`` if this person may not decide about this.

        What a setting adopts is no person's decision.
        """
        if isinstance(person, Person) and (why := self._refusal(person.name, about)):
            raise DecisionRefusedError(why, remedy="Ask one of them, or change approvals.roles.")

    def _refusal(self, name: str, about: DecisionSubject) -> str:
        found = (each for role in self._roles if self._holds(role, about) for each in role.people)
        allowed = tuple(dict.fromkeys(found)) if self._roles else (ANYBODY,)
        if ANYBODY in allowed or name in allowed:
            return ""
        return f"{name} may not decide about {_words(about)}: {_people(allowed)}"

    def _holds(self, role: DecisionRole, about: DecisionSubject) -> bool:
        if role.scopes and about.scope not in role.scopes:
            return False
        if not role.agents and not role.departments:
            return True
        if about.agent_id and about.agent_id in role.agents:
            return True
        department = self._department_of(about.agent_id) if about.agent_id else None
        return department is not None and department in role.departments


def _words(about: DecisionSubject) -> str:
    whose = f"proposals of {about.agent_id}" if about.agent_id else "this"
    return f"{whose} for {about.scope}" if about.scope and about.scope != "agent" else whose


def _people(names: Sequence[str]) -> str:
    if not names:
        return "approvals.roles names nobody who may"
    more = len(names) - _MOST_NAMED
    told = ", ".join(names[:_MOST_NAMED])
    return f"{told} and {counted(more, 'other')} may" if more > 0 else f"{told} may"
