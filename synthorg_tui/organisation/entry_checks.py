"""What is wrong with the organisation's entries by themselves: they disagree, repeat, lead nowhere.

Only texts, tags and the project's folder are looked at; what sessions did is ``lint``'s. Where it
isn't plain that two rules mean the same thing nothing is said.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.files import read_plain
from synthorg_tui.core.text import counted
from synthorg_tui.memory.claims import Relation, relation, subject_of
from synthorg_tui.memory.consolidation.similarity import words_of
from synthorg_tui.organisation.findings import FindingKind, OrgFinding
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.organisation.prohibitions import bans_of
from synthorg_tui.skills.document import Severity

RULES: Final = (OrgFactCategory.CORE_POLICY, OrgFactCategory.CONVENTION)
"""The categories that say what is to be done."""
_OUTDATED: Final = (
    *("superseded", "superceded", "replaced", "deprecated", "obsolete"),
    *("rejected", "withdrawn", "retired", "declined"),
)
"""How the status of a decision begins that is no longer to be followed."""
_CODE: Final = re.compile(r"`([^`\n]{1,120})`")
_PATH: Final = re.compile(r"(?:\./)?[\w.@+-]+(?:/[\w.@+-]+)*")
_MAKES: Final = re.compile(
    r"\b(?:creat\w+|add\w*|new|generat\w+|writ\w+|put\w*|never|not|no|n't|avoid|delet\w+|remov\w+"
    r"|produc\w+|output\w*|build\w*|instead|old|former\w*|renam\w+|mov\w+|e\.g\.|example"
    r"|such as)\b",
    re.IGNORECASE,
)
"""Words by which a file that a rule names need not be there."""
_CITED: Final = re.compile(r"\bADR[-_ #]{0,2}0*(\d{1,6})\b", re.IGNORECASE)
_IN_NAME: Final = re.compile(r"(?:^|/)(?:adr[-_]?)?0*(\d{1,6})[-_.][^/]*$", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"(?:npm|pnpm|yarn|bun) run ([\w:.-]+)")
_TARGET: Final = re.compile(r"make ([\w-]+)")


def check_texts(entries: Sequence[OrgEntry]) -> Iterator[OrgFinding]:
    """Yield what disagrees and what is there twice."""
    yield from _duplicates(entries)
    rules = [entry for entry in entries if entry.category in RULES and is_written(entry)]
    seen: set[frozenset[str]] = set()
    for first, second in _opposites(rules):
        pair = frozenset((first.id, second.id))
        if pair not in seen:
            seen.add(pair)
            yield OrgFinding(
                FindingKind.CONTRADICTION,
                Severity.ERROR,
                first.id,
                first.content,
                f"it says another thing than {named(second)}: an agent can't follow both",
                "Edit or retract one of the two.",
                others=(second.id,),
            )


def check_places(entries: Sequence[OrgEntry]) -> Iterator[OrgFinding]:
    """Yield what is about something that isn't there: a project, a decision, a file, a command."""
    gone = _by_number(outdated(entries))
    for entry in entries:
        folder = Path(entry.traits.project) if entry.traits.project else None
        if folder is not None and not folder.is_dir():
            yield OrgFinding(
                FindingKind.NO_PROJECT,
                Severity.WARNING,
                entry.id,
                entry.content,
                f"it is about the project {folder}, which isn't there",
                "Retract it, or edit its project.",
            )
        elif folder is not None and is_written(entry) and entry.category in RULES:
            yield from _missing(entry, folder)
        if entry.category in RULES:
            yield from _cites_outdated(entry, gone)
    yield from _still_standing(entries)


def is_written(entry: OrgEntry) -> bool:
    """Return whether it is a rule of the settings or a fact: lessons have checks of their own."""
    return entry.origin in (OrgOrigin.SETTINGS, OrgOrigin.FACT)


def named(entry: OrgEntry) -> str:
    """Return an entry as a sentence names it: its first line, shortened, and its id."""
    line = entry.content.strip().partition("\n")[0]
    return f"“{line[:57].rstrip()}…” ({entry.id})" if len(line) > 60 else f"“{line}” ({entry.id})"


def _duplicates(entries: Sequence[OrgEntry]) -> Iterator[OrgFinding]:
    """Entries with the same words for the same readers; the earlier in the list stays."""
    known: dict[tuple[str, ...], list[OrgEntry]] = defaultdict(list)
    for entry in entries:
        if entry.category is OrgFactCategory.ADR:
            continue
        words = tuple(word.lower() for word in words_of(entry.content))
        twin = next((one for one in known[words] if _same_readers(one, entry)), None)
        known[words].append(entry)
        if twin is not None and words:
            yield OrgFinding(
                FindingKind.DUPLICATE,
                Severity.WARNING,
                entry.id,
                entry.content,
                f"it says the same as {named(twin)}",
                "Retract one of the two.",
                others=(twin.id,),
            )


def _same_readers(first: OrgEntry, second: OrgEntry) -> bool:
    projects = {first.traits.project, second.traits.project}
    return len(projects) == 1 or "" in projects


def _opposites(rules: Sequence[OrgEntry]) -> Iterator[tuple[OrgEntry, OrgEntry]]:
    """Rules of which either would take the other's place, had it been said later."""
    by_word: dict[str, list[OrgEntry]] = defaultdict(list)
    for entry in rules:
        for word in subject_of(entry.content):
            by_word[word].append(entry)
    for group in by_word.values():
        for one, other in combinations(group, 2):
            ways = {relation(*texts) for texts in permutations((one.content, other.content))}
            if ways == {Relation.SUPERSEDES} and _same_readers(one, other):
                yield one, other


def is_outdated(status: str) -> bool:
    """Return whether a decision's own word for its status says that it isn't to be followed."""
    return status.strip().casefold().startswith(_OUTDATED)


def outdated(entries: Sequence[OrgEntry]) -> list[OrgEntry]:
    """Return the decisions that are not to be followed any more, by their status or a later one."""
    adrs = [entry for entry in entries if entry.category is OrgFactCategory.ADR]
    replaced = {old for one in adrs for old in one.traits.supersedes}
    return [adr for adr in adrs if adr.id in replaced or is_outdated(adr.traits.status)]


def _by_number(adrs: Iterable[OrgEntry]) -> dict[tuple[str, int], OrgEntry]:
    """Decisions by project and number."""
    found: dict[tuple[str, int], OrgEntry] = {}
    for adr in adrs:
        number = _IN_NAME.search(adr.traits.source.partition("#")[0]) or _CITED.search(
            adr.traits.title or adr.content[:80]
        )
        if number:
            found[adr.traits.project, int(number[1])] = adr
    return found


def _cites_outdated(entry: OrgEntry, gone: dict[tuple[str, int], OrgEntry]) -> Iterator[OrgFinding]:
    if re.search(
        r"\b(?:supersed\w+|replac\w+|former\w*|no longer)\b", entry.content, re.IGNORECASE
    ):
        return
    for number in dict.fromkeys(int(found) for found in _CITED.findall(entry.content)):
        if adr := gone.get((entry.traits.project, number)):
            yield OrgFinding(
                FindingKind.SUPERSEDED,
                Severity.WARNING,
                entry.id,
                entry.content,
                f"it relies on ADR {number}, which isn't in force any more: {named(adr)}",
                "Edit it to follow what replaced that, or retract it.",
                others=(adr.id,),
            )


def _still_standing(entries: Sequence[OrgEntry]) -> Iterator[OrgFinding]:
    adrs = {entry.id: entry for entry in entries if entry.category is OrgFactCategory.ADR}
    for newer in adrs.values():
        for old in newer.traits.supersedes:
            adr = adrs.get(old)
            if adr is not None and adr.traits.status and not is_outdated(adr.traits.status):
                yield OrgFinding(
                    FindingKind.SUPERSEDED,
                    Severity.WARNING,
                    adr.id,
                    adr.content,
                    f"its status is “{adr.traits.status[:40]}”, yet {named(newer)} supersedes it",
                    "Set its status to superseded, in its file too, or retract it.",
                    others=(newer.id,),
                )


def _missing(entry: OrgEntry, folder: Path) -> Iterator[OrgFinding]:
    """A file or command of the project that a rule counts on and that isn't there any more."""
    if _MAKES.search(entry.content) or bans_of(entry.content):
        return
    for code in dict.fromkeys(_CODE.findall(entry.content)):
        if what := _gone(code.strip(), folder):
            yield OrgFinding(
                FindingKind.MISSING,
                Severity.WARNING,
                entry.id,
                entry.content,
                f"{what} in {folder}",
                "Edit it to name what is there now, or retract it.",
            )


def _gone(code: str, folder: Path) -> str:
    """Say what of the code isn't there; empty where it is, or where that can't be told."""
    if found := _SCRIPT.fullmatch(code):
        scripts = _scripts(folder)
        missing = scripts is not None and found[1] not in scripts
        return f"package.json has no script {found[1]}" if missing else ""
    if found := _TARGET.fullmatch(code):
        targets = _targets(folder)
        missing = targets is not None and found[1] not in targets
        return f"the Makefile has no target {found[1]}" if missing else ""
    path = folder / code
    if "/" not in code or not _PATH.fullmatch(code) or ".." in code:
        return ""
    is_file = bool(path.suffix) or code.startswith("./")
    missing = is_file and path.parent.is_dir() and not path.exists()
    return f"there is no {code}" if missing else ""


def _scripts(folder: Path) -> set[str] | None:
    try:
        scripts = json.loads(read_plain(folder / "package.json")[0]).get("scripts")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return set(scripts) if isinstance(scripts, dict) else None


def _targets(folder: Path) -> set[str] | None:
    """The targets of a Makefile; ``None`` without one, or where others may come from elsewhere."""
    try:
        text = read_plain(folder / "Makefile")[0].decode("utf-8", "replace")
    except OSError:
        return None
    if re.search(r"^-?include\b|^[^\t#\n]*[%$][^\n]*:", text, re.MULTILINE):
        return None
    return {
        name
        for names in re.findall(r"^([\w. /-]+?)\s*::?(?!=)", text, re.MULTILINE)
        for name in names.split()
    }


def over_budget(tokens: int, budget: int) -> str:
    """Return how a text compares with the budget of policies, in words."""
    return f"about {counted(tokens, 'token')} of the {budget:,} that policies may take"
