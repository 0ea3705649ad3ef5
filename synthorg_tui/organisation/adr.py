"""Records of architecture decisions, as people keep them in ``docs/adr``: one fact each.

Nygard's, MADR's and log4brains' forms are read: a title, a status with links to what replaced it, a
date, and the text of the decision. Of the rest of the file nothing is kept but where it stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from synthorg_tui.core.text import compiled, truncate
from synthorg_tui.organisation.markdown import fenced
from synthorg_tui.organisation.project_files import SourceFile, front_matter

MAX_DECISION: Final = 2000
"""Characters of a decision; a longer one is cut, its file has the rest."""
_MAX_TITLE: Final = 160
_MAX_STATUS: Final = 60

_NOT_RECORDS: Final = frozenset(
    {"readme", "index", "template", "adr-template", "_index", "summary"}
)
_DECISION: Final = (
    r"(?:the )?(?:decision(?: outcome| made| taken| details| & rationale| and rationale)?|outcome"
    r"|resolution|decided|chosen (?:option|solution)|proposed (?:decision|solution)|proposal"
    r"|solution|entscheidung|d[\u00e9e]cision|decisi[\u00f3o]n)\b.*"
)
_STATES: Final = (
    r"(?i)\b(accepted|approved|proposed|draft|rejected|declined|deprecated|superseded|superceded"
    r"|replaced|amended|implemented|adopted|in review|under review|pending|withdrawn|obsolete"
    r"|retired|done|in progress|experimental|active)\b"
)
_REPLACED_BY: Final = r"(?i)\b(?:super[sc]eded|replaced|obsoleted)[ -]?(?:by)?\b"
_REPLACES: Final = r"(?i)\b(?:super[sc]edes|replaces|obsoletes|super[sc]eding)\b"
_LINK: Final = r"\[([^\]]*)\]\(<?([^)\s>]+)[^)]*\)|\[\[([^\]|]+)(?:\|[^\]]*)?\]\]"
_NUMBER: Final = r"(?i)\b(?:adr|mdr|decision)?[-_ #]*0*(\d{1,6})\b"


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One record: ``line`` is where its decision begins, counted from 1.

    ``supersedes`` and ``superseded_by`` are paths of other records in the project. ``unresolved``
    are mentions of records that aren't there.
    """

    path: str
    title: str
    status: str
    date: str
    text: str
    line: int
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Where its decision stands, as ``docs/adr/0003-queue.md#L14``."""
        return f"{self.path}#L{self.line}"

    @property
    def content(self) -> str:
        """The decision with its title, as a fact says it."""
        return f"{self.title}\n\n{self.text}" if self.text else self.title


@dataclass(frozen=True, slots=True)
class _RecordSection:
    level: int
    name: str
    line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        bare = compiled(r"(?s)<!--.*?-->").sub("", "\n".join(self.lines))
        return compiled(r"\n{3,}").sub("\n\n", bare).strip()


def read_records(files: Sequence[SourceFile]) -> tuple[DecisionRecord, ...]:
    """Read the records of a project, with links between them resolved in both directions.

    Files beside them that are no records, such as templates, are left out.
    """
    names = {file.path for file in files}
    read = [record for file in files if (record := _record(file, names)) is not None]
    paths = {record.path for record in read}
    replaced: dict[str, list[str]] = {record.path: [*record.supersedes] for record in read}
    for record in read:
        for newer in record.superseded_by:
            if newer in replaced and record.path not in replaced[newer]:
                replaced[newer].append(record.path)
    older = {record.path: [n for n in paths if record.path in replaced[n]] for record in read}
    return tuple(
        DecisionRecord(
            record.path,
            record.title,
            record.status or ("superseded" if older[record.path] else ""),
            record.date,
            record.text,
            record.line,
            tuple(path for path in replaced[record.path] if path in paths),
            tuple(sorted({*record.superseded_by, *older[record.path]} & paths)),
            record.unresolved,
        )
        for record in read
    )


def _record(file: SourceFile, names: set[str]) -> DecisionRecord | None:
    stem = PurePosixPath(file.path).stem.lower()
    if stem in _NOT_RECORDS or "template" in stem:
        return None
    fields, body = front_matter(file.text)
    sections = _sections(body)
    decision = _decision(sections)
    stated = _stated(fields, sections)
    is_numbered = compiled(r"(?:adr[-_]?)?\d{2,}(?:[-_.]|$)").match(stem) is not None
    if not sections or (decision is None and "status" not in stated and not is_numbered):
        return None
    title = compiled(r"(?i)^(?:adr[-_ ]?)?\d*\s*[.:)\u2014\u2013-]*\s*").sub(
        "", fields.get("title") or sections[0].name
    )
    status = stated.get("status", "")
    state = compiled(_STATES).search(status)
    newer, lost_newer = _mentioned(status, _REPLACED_BY, file.path, names)
    older, lost_older = _mentioned(
        f"{status}\n{stated.get('links', '')}", _REPLACES, file.path, names
    )
    text, line = _text_of(decision, sections)
    return DecisionRecord(
        file.path,
        truncate(" ".join(title.split()) or stem, _MAX_TITLE, "\u2026"),
        state[1].lower() if state else truncate(" ".join(status.split()), _MAX_STATUS, "\u2026"),
        _date(stated.get("date", ""), stem),
        truncate(text, MAX_DECISION, "\n\u2026"),
        line,
        older,
        newer,
        (*lost_newer, *lost_older),
    )


def _sections(body: str) -> list[_RecordSection]:
    """The sections of a text by their headings; the first has what stands below the title."""
    lines = body.split("\n")
    heads: list[tuple[int, int, str]] = []
    code = fenced(lines)
    for number, line in enumerate(lines):
        if number in code:
            continue
        if head := compiled(r"(#{1,6})\s+(.+?)\s*#*").fullmatch(line):
            heads.append((number, len(head[1]), head[2]))
        elif number and compiled(r"={3,}\s*").fullmatch(line):
            heads += [(number - 1, 1, name) for name in [lines[number - 1].strip()] if name]
    ends = [start for start, _, _ in heads[1:]] + [len(lines)]
    return [
        _RecordSection(level, name, start + 1, tuple(lines[start + 1 : end]))
        for (start, level, name), end in zip(heads, ends, strict=False)
    ]


def _decision(sections: Sequence[_RecordSection]) -> _RecordSection | None:
    for section in sections:
        label = compiled(r"[^\w\s&]+|^\d+[.)]?\s*").sub(" ", section.name.lower())
        plain = " ".join(label.split())
        named = compiled(_DECISION).fullmatch(plain)
        if named and not plain.startswith(("decision driver", "decision maker", "decision date")):
            return section
    return None


def _text_of(
    decision: _RecordSection | None, sections: Sequence[_RecordSection]
) -> tuple[str, int]:
    """The decision with the sections in it up to its consequences, and where its text begins."""
    if decision is None:
        first, *others = sections
        told = [_without_fields(first.text)]
        told += [f"{each.name}: {each.text}" for each in others if not _is_consequence(each.name)]
        return "\n\n".join(part for part in told if part), first.line
    parts = [decision.text]
    line = decision.line + next((n for n, text in enumerate(decision.lines, 1) if text.strip()), 0)
    for section in sections[list(sections).index(decision) + 1 :]:
        if section.level <= decision.level or _is_consequence(section.name):
            break
        parts.append(f"{section.name}: {section.text}" if section.text else section.name)
    return "\n\n".join(part for part in parts if part), line


def _is_consequence(name: str) -> bool:
    return (
        compiled(
            r"(?i).*\b(?:consequences?|pros|cons|confirmation|alternatives?|validation"
            r"|implementation|links|references|more information)\b.*"
        ).match(name)
        is not None
    )


_FIELD: Final = (
    r"\s*(?:[-*+|>]\s*)*(?:\*\*|__)?(status|date|decided|last updated|created|supersedes"
    r"|superseded by|superseded-by|replaces|replaced by)(?:\*\*|__)?\s*[:|](?:\*\*|__)?\s*(.*?)"
    r"[\s|]*"
)


_BETWEEN: Final = r"(?i)(?<=[.;,|])\s+(?=(?:\*\*|__)?(?:status|date)(?:\*\*|__)?:)"
"""Between two of them that stand on one line."""


def _without_fields(text: str) -> str:
    field = compiled(f"(?i){_FIELD}")
    lines = [line for line in text.split("\n") if not field.fullmatch(line)]
    return "\n".join(lines).strip()


def _stated(fields: Mapping[str, str], sections: Sequence[_RecordSection]) -> dict[str, str]:
    """What the fields, the lines below the title and the section "Status" say, by name."""
    said = [(name, value) for name, value in fields.items()]
    said += [
        (label if label in ("status", "date") else _SECTIONS[label], section.text)
        for section in sections
        if (label := section.name.lower().strip(" :*0123456789.")) in _SECTIONS
    ]
    said += [
        (match[1], match[2])
        for text in (sections[0].lines if sections else ())
        for line in compiled(_BETWEEN).split(text)
        if (match := compiled(f"(?i){_FIELD}").fullmatch(line))
    ]
    stated: dict[str, list[str]] = {}
    for name, value in said:
        plain = name.lower().replace("-", " ").replace("_", " ")
        kind = _KINDS.get(plain)
        if kind and value:
            is_link = kind in ("links", "status") and plain not in ("status", "links")
            stated.setdefault(kind, []).append(f"{plain} {value}" if is_link else value)
    return {name: "\n".join(values) for name, values in stated.items()}


_SECTIONS: Final = {
    "status": "status",
    "state": "status",
    "date": "date",
    "links": "links",
    "related": "links",
    "references": "links",
    "more information": "links",
    "relations": "links",
}
_KINDS: Final = {
    "status": "status",
    "date": "date",
    "created": "date",
    "decided": "date",
    "last updated": "date",
    "links": "links",
    "supersedes": "links",
    "replaces": "links",
    "superseded by": "status",
    "replaced by": "status",
}


def _date(stated: str, stem: str) -> str:
    """A day as ``2024-05-01``, of what is stated or of the file's name; empty when unknown."""
    for text in (stated, stem):
        match = compiled(r"((?:19|20)\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])").search(text)
        if match:
            return "-".join(match.groups())
    return truncate(" ".join(stated.split()), 30, "\u2026")


def _mentioned(
    text: str, verb: str, path: str, names: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The records that a text says so of: those that are there, and the others' names."""
    found: dict[str, None] = {}
    lost: dict[str, None] = {}
    for line in text.split("\n"):
        masked = compiled(_LINK).sub(lambda link: "x" * len(link[0]), line)
        match = compiled(verb).search(masked)
        if match is None:
            continue
        told = line[match.end() :]
        links = list(compiled(_LINK).finditer(told))
        for named in [m[2] or m[3] for m in links] or _numbers(told):
            target = _resolved(named, path, names)
            if target and target != path:
                found[target] = None
            elif not target:
                lost[truncate(named, 80, "\u2026")] = None
    return tuple(found), tuple(lost)


def _numbers(told: str) -> Iterator[str]:
    for part in compiled(r",| and |;").split(told):
        if match := compiled(_NUMBER).search(part):
            yield match[1]
        elif slug := compiled(r"\b(\d{8}-[\w-]+|\d+-[\w-]+)\b").search(part):
            yield slug[1]


def _resolved(named: str, path: str, names: set[str]) -> str:
    """The path of the record that a link, file name or number names; empty when there is none."""
    target = named.partition("#")[0].removeprefix("./")
    folder = PurePosixPath(path).parent
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(target).parts):
        parts = parts[:-1] if part == ".." else [*parts, part]
    for whole in ("/".join(parts), "/".join(parts) + ".md"):
        if whole in names:
            return whole
    beside = sorted(name for name in names if PurePosixPath(name).parent == folder)
    stem = PurePosixPath(target).stem.lower()
    if number := compiled(r"(?:adr[-_ ]?)?0*(\d{1,6})").fullmatch(stem):
        alike = [n for n in beside if _number_of(n) == int(number[1])]
        return alike[0] if len(alike) == 1 else ""
    return next((name for name in beside if PurePosixPath(name).stem.lower() == stem), "")


def _number_of(path: str) -> int:
    match = compiled(r"(?:adr[-_]?)?0*(\d{1,6})(?!\d)").match(PurePosixPath(path).stem.lower())
    return int(match[1]) if match else -1
