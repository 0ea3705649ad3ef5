"""What people want: their words about how to work, of one project or of all of them.

Words that are about the same, however put, are one line; it keeps the key of those said first. What
was said in two projects, or as a rule for everything, is a lasting preference of the person.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from synthorg_tui.core.text import counted, jaccard
from synthorg_tui.ingest.extract.said import STANDING, WORDS
from synthorg_tui.knowledge.certainty import LEAST, Witnesses
from synthorg_tui.knowledge.facts import Sighting
from synthorg_tui.knowledge.lines import KnownLine, counts_of, times
from synthorg_tui.memory.claims import Relation, relation

PERSON: Final = ""
"""The project of lines that hold in all projects."""
_SAME_TOPIC: Final = 0.6
_GENERAL: Final = re.compile(
    r"\b(?:from now on|in (?:the )?future|going forward|in (?:all|every|any|each) (?:of my )?"
    r"(?:projects?|repos?(?:itory|itories)?)|in general|generally|everywhere|every time|whenever"
    r")\b",
    re.IGNORECASE,
)
_OF_ONE: Final = re.compile(
    r"\b(?:here|(?:this|that|the|our) (?:repo(?:sitory)?|project|codebase|package|workspace|app"
    r"|module|file|branch|test|class|function))\b",
    re.IGNORECASE,
)


def lines_of_people(
    project: str, sightings: Sequence[Sighting], now: datetime
) -> tuple[KnownLine, ...]:
    """Return what people said of how to work in a project."""
    said = _standing(sightings)
    active = max((s.fact.at for s in sightings if s.fact.at), default=None)
    return tuple(_known(project, said, now, active))


def lasting_preferences(sightings: Sequence[Sighting], now: datetime) -> tuple[KnownLine, ...]:
    """Return what holds in all projects: said in two of them, or as a rule for everything."""
    said = _standing(sightings)
    lasting = [
        group
        for group in _alike(said)
        if len({sighting.project for sighting in group.sightings}) > 1
        or any(_is_general(sighting) for sighting in group.sightings)
    ]
    kept = [sighting for group in lasting for sighting in group.sightings]
    active = max((s.fact.at for s in sightings if s.fact.at), default=None)
    return tuple(_known(PERSON, kept, now, active))


def _standing(sightings: Sequence[Sighting]) -> list[Sighting]:
    """What people said, without what they said otherwise later in the same project."""
    said = [sighting for sighting in sightings if sighting.fact.topic == "said"]
    dated = [(at, sighting) for sighting in said if (at := sighting.fact.at) is not None]
    replaced = {
        id(one)
        for said_at, one in dated
        for at, later in dated
        if later.project == one.project
        and said_at < at
        and relation(later.fact.detail, one.fact.detail) is Relation.SUPERSEDES
    }
    return [sighting for sighting in said if id(sighting) not in replaced]


def _known(
    project: str, said: Sequence[Sighting], now: datetime, active: datetime | None
) -> Iterator[KnownLine]:
    for seen in _alike(said):
        places = len({sighting.project for sighting in seen.sightings})
        often = f"said {times(seen.good)}"
        what = f"{often} in {counted(places, 'project')}" if project == PERSON else often
        plainest = max(seen.facts, key=lambda fact: fact.certainty or 0.0)
        certainty = seen.certainty(now, active)
        if certainty >= LEAST:
            yield KnownLine(
                project=project,
                section="people",
                key=f"said|{seen.facts[0].subject}",
                text=plainest.detail,
                counts=counts_of(seen, what),
                good=seen.good,
                bad=seen.bad,
                sessions=seen.sessions,
                last=seen.last,
                certainty=certainty,
                episodes=seen.episodes,
            )


def _alike(said: Sequence[Sighting]) -> list[Witnesses]:
    """What was said, that together which wants nearly the same."""
    groups: list[tuple[str, frozenset[str], Witnesses]] = []
    for sighting in said:
        polarity, _, topic = sighting.fact.subject.partition("|")
        words = frozenset(topic.split())
        for known, others, seen in groups:
            if known == polarity and jaccard(words, others) >= _SAME_TOPIC:
                seen.sightings.append(sighting)
                break
        else:
            groups.append((polarity, words, Witnesses([sighting])))
    return [seen for _, _, seen in groups]


def _is_general(sighting: Sighting) -> bool:
    """Whether it was said as a rule for everything, and names nothing of one project."""
    text = sighting.fact.detail
    is_rule = (sighting.fact.certainty or 0.0) >= STANDING and _GENERAL.search(text) is not None
    return is_rule and _OF_ONE.search(text) is None and WORDS["file"].search(text) is None
