"""The block of core policies that stands before everything an agent is handed.

Policies are a person's own words: they stand as instructions, in no fence, and nothing filters
them. A block is a pure function of the policies, the budget and the estimator, so that whoever
shows or hands it over has the same bytes. Which policies there are is for the backends; where the
block stands is for ``memory.strategies``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.core.untrusted import defused
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor

LIST_TOOL: Final = "org_policies"
"""The tool that lists all policies; named to agents for what the budget leaves out."""

_TITLE: Final = (
    "Policies of this organisation, each approved by a person. Follow them in all you do; "
    "this list replaces any earlier one:"
)
_BULLET: Final = "- "
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class PolicyBlock:
    """The text of the policies that fit a budget, and its size in tokens.

    ``told`` and ``omitted`` are the ids of those in it and of those without room, in the order in
    which they stand. ``text`` is empty without policies, and where not even the line that names
    what is left out has room.
    """

    text: str = ""
    tokens: int = 0
    told: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


def policies_of_settings(contents: Sequence[str], now: datetime) -> tuple[OrgFact, ...]:
    """Return the core policies of the settings as facts of a person, of no time but the present."""
    return tuple(
        OrgFact(
            id=f"core-policy-{number}",
            content=content,
            category=OrgFactCategory.CORE_POLICY,
            author=OrgFactAuthor(is_human=True),
            created_at=now,
        )
        for number, content in enumerate(contents)
    )


def policy_block(
    policies: Sequence[OrgFact], budget: int, estimator: TokenEstimator
) -> PolicyBlock:
    """Return the block of as many policies as a budget of tokens holds, each of them whole.

    ``policies`` are in the order of ``OrgMemoryBackend.list_policies``: those of the settings,
    then written ones, newest first. The first have the first right to the room; after one that is
    too large, smaller ones may still fit. The text says how many don't, which counts, too. There
    is no block for a budget of 0.
    """
    every = tuple(policy.id for policy in policies)
    if budget <= 0 or not policies:
        return PolicyBlock(omitted=every)
    lines = [policy_line(policy.content) for policy in policies]
    taken = list(range(len(lines)))
    if estimator.estimate_tokens(_text(lines, taken)) > budget:
        taken = _fitting(lines, budget, estimator)
    text = _text(lines, taken)
    tokens = estimator.estimate_tokens(text)
    if tokens > budget:
        return PolicyBlock(omitted=every)
    told = set(taken)
    return PolicyBlock(
        text,
        tokens,
        told=tuple(every[place] for place in taken),
        omitted=tuple(key for place, key in enumerate(every) if place not in told),
    )


def policy_line(text: str) -> str:
    """Return the text of a policy as it stands in the block: one item, whatever lines it has.

    Nothing in it can open or close a fence or look like another item, and control, invisible and
    reordering characters are shown as glyphs.
    """
    words = safe_text(defused(text.strip(), unfenced=True), multiline=True)
    first, *rest = (line.rstrip() for line in words.split("\n"))
    return "\n".join((_BULLET + first, *(f"{_INDENT}{line}" if line else "" for line in rest)))


def _text(lines: Sequence[str], taken: Sequence[int]) -> str:
    """The block of some of the policies, which says how many others there are."""
    left_out = len(lines) - len(taken)
    if not taken:
        rest = counted(left_out, "policy", "policies")
        return f"This organisation has {rest}: {LIST_TOOL} lists them. Follow them in all you do."
    parts = [_TITLE, *(lines[place] for place in taken)]
    if left_out:
        verb, which = ("doesn't", "it") if left_out == 1 else ("don't", "them")
        rest = counted(left_out, "more policy", "more policies")
        parts.append(f"({rest} {verb} fit here: {LIST_TOOL} lists {which}.)")
    return "\n".join(parts)


def _fitting(lines: Sequence[str], budget: int, estimator: TokenEstimator) -> list[int]:
    """The places of the policies that have room beside the line on what is left out."""
    taken: list[int] = []
    for place in range(len(lines)):
        if estimator.estimate_tokens(_text(lines, [*taken, place])) <= budget:
            taken.append(place)
    return taken
