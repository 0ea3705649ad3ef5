"""Who may decide what: by name, agent, department and scope, and what an unknown name may."""

import pytest

from synthorg_tui.approvals import ApprovalsConfig, DecisionRole
from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalStatus,
    DecisionRefusedError,
)
from synthorg_tui.approvals.person import Person, Policy, user_name
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.approvals.roles import DecisionRights, DecisionSubject
from synthorg_tui.persistence.port import StoreDatabase
from tests.approvals.approval_kit import PERSON, REJECTED, decide, item
from tests.approvals.test_approval_queue import database as database
from tests.conftest import FixedClock
from tests.tables import rows

DEPARTMENTS = {"coder": "engineering", "writer": "docs"}
CODER = DecisionSubject("coder", "agent")
WRITER = DecisionSubject("writer", "agent")
FOR_ALL = DecisionSubject("coder", "org")
OF_NOBODY = DecisionSubject()


def rights(
    *roles: DecisionRole, person: str | None = "eva", shared: bool = False
) -> DecisionRights:
    config = ApprovalsConfig(person=person, roles=roles)
    return DecisionRights(config, DEPARTMENTS.get, is_shared=shared)


def role(*people: str, **narrower: tuple[str, ...]) -> DecisionRole:
    return DecisionRole.model_validate({"people": people} | narrower)


ALL = (CODER, WRITER, FOR_ALL, OF_NOBODY)


def may(given: DecisionRights) -> list[DecisionSubject]:
    return [about for about in ALL if not given.refusal(about)]


def test_without_roles_everybody_decides_all() -> None:
    assert may(rights()) == list(ALL)
    assert may(rights(person=None, shared=True)) == list(ALL)


@rows(
    ("given", "expected"),
    [
        (role("eva"), list(ALL)),
        (role("*"), list(ALL)),
        (role("paul"), []),
        (role("eva", agents=("coder",)), [CODER, FOR_ALL]),
        (role("eva", departments=("docs",)), [WRITER]),
        (role("eva", departments=("docs",), agents=("coder",)), [CODER, WRITER, FOR_ALL]),
        (role("eva", scopes=("agent",)), [CODER, WRITER]),
        (role("eva", scopes=("org",), departments=("engineering",)), [FOR_ALL]),
        (role("eva", departments=("sales",)), []),
    ],
)
def test_a_role_holds_for_what_it_names(
    given: DecisionRole, expected: list[DecisionSubject]
) -> None:
    assert may(rights(given)) == expected


def test_a_name_that_no_role_has_decides_nothing_and_is_told_who_may() -> None:
    known = rights(role("paul", agents=("coder",)), role("ada"), person="mallory")
    assert may(known) == []
    assert known.refusal(CODER) == "mallory may not decide about proposals of coder: paul, ada may"
    assert known.refusal(OF_NOBODY) == "mallory may not decide about this: ada may"
    nobody = rights(role("paul", agents=("x",)))
    assert nobody.refusal(FOR_ALL).endswith("approvals.roles names nobody who may")
    many = rights(role(*(f"p{n}" for n in range(7))))
    assert many.refusal(OF_NOBODY).endswith("p0, p1, p2, p3, p4 and 2 others may")


def test_without_a_name_in_the_settings_the_login_name_counts() -> None:
    assert may(rights(role(user_name()), person=None)) == list(ALL)
    assert may(rights(role("somebody else"), person=None)) == []


def test_one_persons_decisions_are_recorded_as_ever_and_those_of_several_by_name() -> None:
    at_app, at_terminal = Person("tui"), Person("terminal", "root")
    alone = rights(person=None)
    assert (alone.named(at_app), alone.own_actors()) == (at_app, ())
    assert rights().named(at_app) == Person("tui", "eva")
    assert rights().named(at_terminal) == Person("terminal", "eva")
    assert rights().own_actors() == ("eva (tui)", "eva (terminal)")
    shared = rights(person=None, shared=True)
    assert shared.named(at_app) == Person("tui", user_name())
    assert shared.named(at_terminal) == at_terminal


def test_what_a_setting_adopts_needs_no_role() -> None:
    strict = rights(role("paul"))
    strict.require(Policy("approvals.review"), CODER)
    with pytest.raises(DecisionRefusedError, match="eva may not decide"):
        strict.require(Person("tui", "eva"), CODER)


async def test_the_queue_writes_no_decision_of_who_may_not_take_it(
    database: StoreDatabase,
) -> None:
    given = rights(role("paul"))
    queue = ApprovalQueue(database, clock=FixedClock(), rights=given)
    await queue.add(item(metadata={"agent": "coder", "scope": "agent"}))
    for status in (ApprovalStatus.APPROVED, REJECTED):
        with pytest.raises(DecisionRefusedError, match=r"eva may not decide .* paul may"):
            await decide(queue, database, status=status)
    with pytest.raises(DecisionRefusedError, match="paul may"):
        await queue.snooze("lesson-1", None, PERSON)
    decided = await decide(queue, database, person=Person("tui", "paul"))
    assert decided.decided_by == "paul (tui)"
    with pytest.raises(DecisionRefusedError, match="paul may"):
        await database.write(lambda db: queue.reopen_in(db, "lesson-1", PERSON, "no"))


async def test_who_comes_second_is_told_who_decided_and_when(database: StoreDatabase) -> None:
    queue = ApprovalQueue(database, clock=FixedClock())
    await queue.add(item("twice"))
    await decide(queue, database, "twice", person=Person("tui", "paul"))
    at = FixedClock().now().astimezone()
    told = f"is approved, not pending: paul at the app decided at {at:%H:%M} on {at:%Y-%m-%d}"
    with pytest.raises(ApprovalConflictError, match=told):
        await decide(queue, database, "twice", status=REJECTED)
