"""The state of the Organisation pane: filter, search, the moment shown, and the loaded entries.

The screen asks it what to list and draws what it holds. It works on a port and is tested without a
screen: no Textual, and nothing of the engine is loaded before there is something to show.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.organisation.models import EntryCriteria, EntryPage, OrgEntry, OrgOrigin
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.filters import Query, parse_row_filter
from synthorg_tui.tui.base.window import WINDOW, Latest, ListWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    from synthorg_tui.tui.organisation.adapter import EngineOrganisation

KINDS: Final = {
    OrgFactCategory.CORE_POLICY: ("policy", "Policies"),
    OrgFactCategory.ADR: ("adr", "Decisions"),
    OrgFactCategory.PROCEDURE: ("procedure", "Procedures"),
    OrgFactCategory.CONVENTION: ("convention", "Conventions"),
}
"""What one of a category is called, and what the group of all is."""
STATES: Final = ("retracted", "superseded")
RETRACTED: Final = "is:retracted"
DAY: Final = timedelta(days=1)


class EntryPart(StrEnum):
    """What the detail shows: the entry, what its versions changed, or agents' refused writes."""

    ENTRY = "entry"
    CHANGES = "changes"
    REFUSED = "refused"

    @property
    def following(self) -> EntryPart:
        """The next one; after the last comes the first."""
        parts = list(EntryPart)
        return parts[(parts.index(self) + 1) % len(parts)]


class Entries(Latest):
    """What is listed: by filter or search, now or ``at`` a moment; ``None`` is now."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self.filter_text = ""
        self.search_text = ""
        self.at: datetime | None = None
        self.moments: tuple[datetime, ...] = ()
        self.changes = 0
        self.page = EntryPage()
        self.found: tuple[OrgEntry, ...] | None = None
        self.shown = EntryPart.ENTRY

    # What is asked

    @property
    def searching(self) -> bool:
        """Whether words are searched for instead of filtered."""
        return bool(self.search_text.strip())

    @property
    def text(self) -> str:
        """The text that decides what is listed."""
        return self.search_text if self.searching else self.filter_text

    @property
    def query(self) -> Query:
        """The parsed filter: values of operators that name nothing are problems."""
        query = parse_row_filter(self.filter_text, "kind", "project", "from", states=STATES)
        problems = list(query.problems)
        for name, value in query.values:
            if name == "kind" and not kinds_named(value):
                names = ", ".join(name for name, _ in KINDS.values())
                problems.append(f"kind:{value} is none of {names}")
            if name == "from" and not origins_named(value):
                problems.append(f"from:{value} is none of {', '.join(OrgOrigin)}")
        return replace(query, problems=tuple(problems))

    @property
    def wanted(self) -> EntryCriteria:
        """The filter as the engine takes it."""
        query = self.query
        named = {name: [v for n, v in query.values if n == name] for name, _ in query.values}
        return EntryCriteria(
            words=query.criteria.words,
            without=query.criteria.without,
            categories=tuple(c for v in named.get("kind", ()) for c in kinds_named(v)),
            origins=tuple(o for v in named.get("from", ()) for o in origins_named(v)),
            projects=tuple(named.get("project", ())),
            retracted="retracted" in named.get("is", ()),
            superseded="superseded" in named.get("is", ()),
        )

    def turn_retracted(self) -> None:
        """List what was retracted, or what is in force again."""
        words = self.filter_text.split()
        if RETRACTED in words:
            self.filter_text = " ".join(word for word in words if word != RETRACTED)
        else:
            self.filter_text = " ".join((RETRACTED, *words))

    # What has come

    async def read(self, generation: int, port: EngineOrganisation, *, offset: int) -> bool:
        """Read what is listed; return ``False`` if a newer request was made meanwhile."""
        at = self.at
        if self.searching:
            found = await port.search(self.search_text.strip())
            if not self.answer(generation):
                return False
            self.found = found
            return True
        wanted = self.wanted
        page = await port.page(wanted, at=at, offset=offset, limit=WINDOW)
        if page.total and not page.entries:  # it was far shorter then
            offset = max(page.total - WINDOW, 0)
            page = await port.page(wanted, at=at, offset=offset, limit=WINDOW)
        return self.take(generation, page)

    def take(self, generation: int, page: EntryPage) -> bool:
        """Take a page; return ``False``, and drop it, if a newer request was made meanwhile."""
        if not self.answer(generation):
            return False
        self.page, self.found = page, None
        if self.at is None:
            self.changes = page.changes
        return True

    def clear(self) -> None:
        """Empty the list after the newest request failed."""
        self.answer(self.generation)
        self.page, self.found = EntryPage(), None

    @property
    def window(self) -> ListWindow[OrgEntry]:
        """The loaded rows and how many there are."""
        if self.found is not None:
            return ListWindow(self.found, 0, len(self.found))
        return ListWindow(self.page.entries, self.page.offset, self.page.total)

    # The slider over time

    @property
    def place(self) -> int:
        """How many of the moments are not after the one shown."""
        return len(self.moments) if self.at is None else bisect_right(self.moments, self.at)

    def step(self, by: int) -> bool:
        """Go to the moment before or after at which something changed; after the last comes now.

        Before the first there is none: returns ``False``, and nothing changes.
        """
        if not self.moments:
            return False
        if by < 0:
            here = self.moments[-1] if self.at is None else self.at
            before = bisect_left(self.moments, here)
            return before > 0 and self._go(self.moments[before - 1])
        later = self.moments[self.place :]
        return self.at is not None and self._go(later[0] if len(later) > 1 else None)

    def shift(self, by: timedelta) -> bool:
        """Go back or on by a time; not before the first moment, and not beyond now."""
        if not self.moments:
            return False
        now = self._now()
        at = max((self.at or now) + by, self.moments[0])
        return self._go(None if at >= now else at)

    def go_to_share(self, share: float) -> bool:
        """Go to the moment at a share in [0, 1] of the moments; the last of them is now."""
        if not self.moments:
            return False
        at = min(max(int(share * len(self.moments)), 0), len(self.moments) - 1)
        return self._go(None if at == len(self.moments) - 1 else self.moments[at])

    def go_to_now(self) -> bool:
        """Leave the past; ``False`` when it isn't shown."""
        return self._go(None)

    def _go(self, at: datetime | None) -> bool:
        moved, self.at = at != self.at, at
        return moved

    # Captions

    def caption(self, cursor: int) -> str:
        """Where the cursor is, of how many, and what isn't listed."""
        total = self.window.total
        if not total:
            return ""
        at = f"{cursor + 1:,} of {total:,}"
        if self.found is not None:
            return f"{at} · best first"
        if self.filter_text.strip():
            return f"{at} · {total:,} of {self.page.stored:,} match"
        lists = key_of("organisation.deleted")
        retracted = self.page.retracted
        return at + (f" · {lists} lists {retracted:,} retracted" if retracted else "")


def kinds_named(value: str) -> list[OrgFactCategory]:
    """Return the categories that begin so, by the name that people see or the stored one."""
    return [
        category
        for category, names in KINDS.items()
        if any(name.lower().startswith(value) for name in (*names, category.value))
    ]


def origins_named(value: str) -> list[OrgOrigin]:
    """Return the origins that begin so."""
    return [origin for origin in OrgOrigin if origin.value.startswith(value)]
