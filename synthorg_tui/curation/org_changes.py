"""Writes to organisation memory as a person decides on them: what they replace, and taking back.

A fact may have changed since somebody asked for a change of it. Approving such an item would
overwrite that unseen, and undoing a decision would lose it: so both compare states by their words,
and are refused when somebody else changed them. A version number alone doesn't say that, since a
decision that was taken back leaves the words as they were under a new number. Carrying changes out
is for ``memory.org.store``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from synthorg_tui.approvals.models import ApprovalConflictError
from synthorg_tui.curation.plan import CurationPlan, Preview, preview_of
from synthorg_tui.curation.review import InboxEntry, OrgPayload
from synthorg_tui.memory.extensions import MemoryBundle
from synthorg_tui.memory.org.acts import FactState, states_of, words_of
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind, OrgEffect
from synthorg_tui.memory.org.models import OrgFactWriteRequest
from synthorg_tui.memory.org.store import OrgStore

GONE = "The fact that it would change is gone."
CHANGED = "The fact was changed since this was asked for: reject it, and have it asked for anew."
RETRACTED = "The fact is retracted already."
SAME = "The fact says exactly this already."


def rendered(request: OrgFactWriteRequest | None) -> str:
    """Return a text with its category and tags in a line before it; empty for none."""
    if request is None:
        return ""
    return f"{', '.join((request.category.value, *sorted(request.tags)))}\n{request.content}"


async def org_preview(entry: InboxEntry, payload: OrgPayload, facts: OrgStore) -> Preview:
    """Return the preview of writes to organisation memory; ``text`` is empty for one new fact.

    The plan carries out what is shown and nothing else: each change expects the version of now.
    """
    now: dict[str, FactState] = {}
    changes, before, after = list[OrgChange](), list[str](), list[str]()
    problem = ""
    for change in payload.changes:
        fact_id = change.fact_id
        if fact_id is None:
            changes.append(change)
            after.append(rendered(change.request))
            continue
        states = states_of(await facts.log(fact_id))
        present = now.get(fact_id, states[max(states)])
        problem = problem or _problem(change, states, present, is_first=fact_id not in now)
        changes.append(change.model_copy(update={"expected_version": present.version}))
        before.append(rendered(present.request))
        after.append(rendered(change.request))
        now[fact_id] = FactState(
            present.version + 1, change.request, change.request is not None, change.author
        )
    former = "\n\n".join(filter(None, before))
    is_one_new = len(changes) == 1 and not former
    return preview_of(
        entry=entry,
        plan=CurationPlan(bundle=MemoryBundle(org=tuple(changes))),
        text="" if is_one_new else "\n\n".join(filter(None, after)),
        before=former,
        touched=tuple(
            (change.fact_id, str(change.expected_version)) for change in changes if change.fact_id
        ),
        problem=problem,
    )


def _problem(
    change: OrgChange, states: Mapping[int, FactState], present: FactState, *, is_first: bool
) -> str:
    """Why a change of a fact can't be approved; empty when it can.

    Only the first change of a fact expects what its author saw: later ones stand on that.
    """
    expected = change.expected_version
    if present.version == 0 and expected != 0:
        return GONE
    if is_first and expected is not None:
        seen = states.get(expected)
        if seen is None or not seen.says_the_same_as(present):
            return CHANGED
    if change.kind is OrgChangeKind.RETRACT and present.request is None:
        return RETRACTED
    is_same = change.request and words_of(change.request) == words_of(present.request)
    return SAME if is_same else ""


async def inverse(
    effects: Sequence[OrgEffect], facts: OrgStore, later: dict[str, FactState]
) -> tuple[OrgChange, ...]:
    """Return the changes that take back what a decision did to facts.

    ``later`` are states by fact that decisions taken back before this one are going to leave; those
    of these changes are added. Raises ``ApprovalConflictError`` when somebody has changed a fact
    since.
    """
    changes = []
    for effect in effects:
        states = states_of(await facts.log(effect.fact_id))
        present = later.get(effect.fact_id, states[max(states)])
        before, after = states.get(effect.before), states.get(effect.after)
        if before is None or after is None or not after.says_the_same_as(present):
            raise ApprovalConflictError(
                f"fact {effect.fact_id[:8]} has been changed since: undoing would lose that",
                remedy=f"`synthorg-tui org history {effect.fact_id[:8]}` shows what was changed.",
            )
        if not before.says_the_same_as(present):
            changes.append(present.change_to(before, effect.fact_id))
            present = replace(before, version=present.version + 1)
        later[effect.fact_id] = present
    return tuple(changes)
