"""Readers that are descriptions: tables that say where in an agent's records everything stands.

A description names the places of a session's facts, its messages, and in these the texts, the calls
and their results. A place is ``a.b``: the member ``b`` of the member ``a``, which may be the first
object of a list; ``a|b`` is the first of two that is there, ``a.*`` all members of ``a``, and
``a{}`` the object that the text ``a`` holds as JSON.
Descriptions are files of TOML in ``formats``. What they describe is hostile: they only choose among
what is read, and nothing in a record is run.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import Field

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.paths import undashed
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.executions.models import is_shell, slug
from synthorg_tui.ingest.databases import table_source
from synthorg_tui.ingest.readers.base import (
    ExecutionBuilder,
    Reading,
    SessionState,
    count_of,
    items,
    moment,
    named_place,
    session_name,
    text_of,
)
from synthorg_tui.ingest.readers.stores import CHATS, DATABASE, EVENTS, FOLDERS
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import (
    LineSource,
    document_items,
    file_lines,
)
from synthorg_tui.ingest.speech import spoken

FORMATS: Final = Path(__file__).parent / "formats"
_SOURCES: Final[Mapping[str, LineSource]] = {
    "lines": file_lines,
    "document": document_items,
    "events": EVENTS,
    "chats": CHATS,
    "parts": DATABASE,
    "folders": FOLDERS,
}
_EDGE: Final = 600
MAX_RECORDS: Final = 200_000
"""A conversation of more records is taken as one without branches."""
_TEXTS: Final = "text|Text|content|output|stdout|error|response|functionResponse"


class Facts(FrozenModel):
    """Places of what a record says of its session, where all of ``when`` fits the record.

    ``when`` maps a place to a pattern for the whole of what stands there; ``*`` is anything, and
    after ``!`` stands what must not be there. ``child`` is the id
    of a subagent of the session, which is ``called`` something; ``subagent`` says that another
    agent asks in this session, ``skip`` that it is the program's own and no work.
    """

    when: dict[str, str] = Field({})
    session: str = ""
    parent: str = ""
    project: str = ""
    branch: str = ""
    model: str = ""
    title: str = ""
    time: str = ""
    input: str = ""
    output: str = ""
    cached: str = ""
    child: str = ""
    called: str = ""
    subagent: bool = False
    skip: bool = False


class Messages(FrozenModel):
    """Places of a message and what is in it.

    ``at`` is the place of the message in its record, empty when they are one. ``role`` is
    ``user`` or ``assistant``, ``tool`` for results, another word for what nobody says; or else
    ``role_at`` is the place of a word that ``roles`` translates. A message that ``is_head`` is
    begun by this record and goes on in the next ones, which have their role and time from it where
    they have none; how it ``ends`` is true after them.
    """

    when: dict[str, str] = Field({})
    at: str = ""
    is_head: bool = False
    role: str = ""
    role_at: str = "role"
    roles: dict[str, str] = Field({"user": "user", "assistant": "assistant", "tool": "tool"})
    blocks: tuple[str, ...] = ("content",)
    id: str = "id"
    time: str = "timestamp"
    model: str = "model"
    ends: str = ""
    error: str = ""
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()


class Blocks(FrozenModel):
    """Places in a block of a message: its kind, a text unless it is ``hidden``, a call, a result.

    A block may be several of these; calls and results are only of ``kinds`` if there are any.
    ``statuses`` gives the outcome for each word at ``status`` (``*`` is any other),
    ``words`` a pattern for an outcome that only the head or the end of the output tells, whatever
    the status is. ``unsaid`` is the outcome of what nothing tells, of commands ``unsaid_command``;
    ``zero`` says that a command which is ``ok`` ended with 0, ``sure`` that words of the output
    change nothing where a status or an exit code is ``ok``. ``files`` are names of changed files.
    """

    kind: str = "type"
    kinds: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    hidden: str = ""
    text: str = "text"
    texts: tuple[str, ...] = ("text",)
    call: str = "id"
    tool: str = "name"
    given: str = "input"
    result: str = "tool_use_id"
    told: str = "content"
    status: str = "is_error"
    statuses: dict[str, CallOutcome] = Field({"true": CallOutcome.FAILED, "false": CallOutcome.OK})
    code: str = ""
    codes: str = ""
    zero: bool = False
    sure: bool = False
    files: str = ""
    words: dict[CallOutcome, str] = Field({})
    unsaid: CallOutcome = CallOutcome.UNKNOWN
    unsaid_command: CallOutcome = CallOutcome.UNKNOWN


class Description(FrozenModel):
    """A format: how its files are found and recognised, and where in its records everything is.

    ``places`` are triples: a variable of the environment, the folder below home for when it isn't
    set (without one it is a place only if it is set), and what is below either, which may be a
    pattern. ``kind`` is the place of a record's kind; records of a ``silent`` kind say nothing.
    What fits ``title_ends`` is no part of a title. ``session_folder`` says
    how many folders above its file the session's name is, ``subagents`` in which folder of it are
    files of subagents, ``project_above`` in which folder of the project its files are;
    ``is_dashed`` says that what this is in is named like the project's path, with dashes.
    ``has_times`` is unset where only the file's time tells when it was. ``asked`` is a pattern for
    what of a text the person typed, where the program adds more.
    ``shells`` are tools that run commands under another name than usual, ``ends`` tells for each
    word that ends a message (``*`` is any other) how the session ended.
    """

    name: str
    verified: str
    decides: str
    unread: str = ""
    agent: str = ""
    places: tuple[tuple[str, str, str], ...] = ()
    files: dict[str, str] = Field({})
    database: dict[str, str] = Field({})
    recognised: tuple[dict[str, str], ...] = ()
    kind: str = "type"
    silent: tuple[str, ...] = ()
    title_ends: str = ""
    own_id: str = "id"
    parent_id: str = ""
    session_folder: int = -1
    subagents: str = ""
    project_above: str = ""
    is_dashed: bool = False
    has_times: bool = True
    asked: str = ""
    shells: tuple[str, ...] = ()
    ends: dict[str, str] = Field({})
    facts: tuple[Facts, ...] = ()
    messages: tuple[Messages, ...] = ()
    blocks: Blocks = field(default_factory=Blocks)


def find(record: object, place: str) -> object:
    """Return what stands at a place of a record, rather a text than an empty one, or ``None``."""
    found = None
    for way in place.split("|") if place else ():
        value = record
        for name in way.split("."):
            several = value if isinstance(value, list) else [value]
            inside = next((each for each in several if isinstance(each, dict)), {})
            key = name.removesuffix("{}")
            value = list(inside.values()) if name == "*" else inside.get(key)
            value = value if key == name else _object(value)
        if value not in (None, ""):
            return value
        found = value if found is None else found
    return found


def fits(record: Record, when: Mapping[str, str]) -> bool:
    """Tell whether each place of ``when`` holds what its pattern wants."""
    for place, pattern in when.items():
        value = find(record, place)
        wanted = pattern.removeprefix("!")
        is_there = value is not None and (
            wanted == "*" or re.fullmatch(wanted, _word(value), re.DOTALL) is not None
        )
        if is_there is pattern.startswith("!"):
            return False
    return True


def descriptions(folder: Path) -> list[Description]:
    """Return the descriptions in the files of a folder, by their names.

    Raises ``ValueError`` (with the file, the field and its value) for one that can't be used.
    """
    found = []
    for path in sorted(folder.glob("*.toml")):
        try:
            found.append(Description.model_validate(tomllib.loads(path.read_text("utf-8"))))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return found


class DescribedReader:
    """Reads what a description describes."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.name, self.verified = description.name, description.verified
        sources = dict(_SOURCES)
        if description.database:
            sources["database"] = table_source(description.name, description.database)
        self.files: Mapping[str, LineSource] = {
            pattern: sources[kind] for pattern, kind in description.files.items()
        }

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders that the description names, moved by the variables it names."""
        return tuple(
            place
            for variable, default, below in self.description.places
            if default or environ.get(variable)
            for base in [named_place(environ, variable, home / default)]
            for place in (sorted(base.glob(below)) if "*" in below else [base / below])
        )

    def recognises(self, record: Record) -> bool:
        """Tell whether the record fits one of the patterns of the description."""
        return any(fits(record, when) for when in self.description.recognised)

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read one session."""
        about = self.description
        builder = ExecutionBuilder(reader=about.name, agent_id=about.agent or about.name)
        path, is_usual = lines.path, lines.path.name in self.files
        above = (path.with_suffix(""), *path.parents)
        if about.subagents and path.parent.name == about.subagents:
            builder.session_id = session_name(above[2].name)
            builder.subagent = session_name(path.stem) or "subagent"
            builder.agent_id = f"{builder.agent_id}/subagent"
        if not about.has_times and path.exists():
            builder.see(datetime.fromtimestamp(path.stat().st_mtime, UTC))
        reading = _Described(builder, about=about)
        for number, record in records:
            reading.feed(number, record)
        if about.session_folder >= 0 and is_usual:
            builder.session_id = session_name(above[about.session_folder].name)
        inside = (folder.parent for folder in path.parents if folder.name == about.project_above)
        if (folder := next(inside, None)) is not None:
            project = undashed(folder.name) if about.is_dashed else folder
            builder.project = builder.project or str(project or "")
        builder.session_id = builder.session_id or session_name(path.stem)
        return reading.finish(lines)


@dataclass(slots=True)
class Branches:
    """The records of a conversation that a person may go back in, and the parent of each.

    Going back leaves the records after that place in the file, but no later one leads to them: what
    was said there was taken back.

    A record whose parent isn't in the file follows the one before it.
    """

    _parents: dict[str, str] = field(default_factory=dict)
    _last: str = ""
    _count: int = 0

    def note(self, record_id: str, parent_id: str) -> None:
        """Add a record; a later one of the same id is another piece of it."""
        if not record_id:
            return
        self._count += 1
        if record_id not in self._parents and self._count <= MAX_RECORDS:
            self._parents[record_id] = parent_id if parent_id in self._parents else self._last
        self._last = record_id

    def keep_in(self, builder: ExecutionBuilder) -> None:
        """Drop what the builder has of records that the last one doesn't lead back to."""
        dead = self._dead()
        if dead:
            builder.keep(
                lambda turn: turn.record_id not in dead, lambda call: call.record_id not in dead
            )

    def _dead(self) -> frozenset[str]:
        if self._count > MAX_RECORDS:
            return frozenset()
        alive: set[str] = set()
        record_id = self._last
        while record_id and record_id not in alive:
            alive.add(record_id)
            record_id = self._parents.get(record_id, "")
        return frozenset(self._parents.keys() - alive)


@dataclass(slots=True)
class _Described(SessionState):
    """Reading state of one session; ``waiting`` are calls without an id, oldest first.

    ``head`` is the message whose parts come now.
    """

    about: Description = field(kw_only=True)
    asker: str = "user"
    is_own: bool = False
    branches: Branches = field(default_factory=Branches)
    waiting: list[str] = field(default_factory=list)
    head: Record = field(default_factory=dict)
    head_place: Messages = field(default_factory=Messages)

    def feed(self, number: int, record: Record) -> None:
        about, kind = self.about, text_of(find(record, self.about.kind))
        facts = [each for each in about.facts if fits(record, each.when)]
        for each in facts:
            self._take_facts(record, each)
        if about.parent_id:
            self.branches.note(
                text_of(find(record, about.own_id)), text_of(find(record, about.parent_id))
            )
        said = [
            (each, message)
            for each in about.messages
            if fits(record, each.when)
            for found in [find(record, each.at) if each.at else record]
            for message in items(found if isinstance(found, list) else [found])
        ]
        for place, message in said:
            self._message(number, record, message, place)
        is_known = said or facts or kind in about.silent
        self.unknown.note(mapping(record.get("data")) or record, not is_known)

    def _take_facts(self, record: Record, facts: Facts) -> None:
        builder, about = self.builder, self.about
        told = {name: text_of(find(record, getattr(facts, name))) for name in _FACTS}
        builder.session_id = builder.session_id or session_name(told["session"])
        if (parent := session_name(told["parent"])) and not builder.subagent:
            builder.subagent, builder.session_id = builder.session_id, parent
            builder.agent_id = f"{builder.agent_id}/subagent"
        builder.project = builder.project or told["project"].removeprefix("file://")
        builder.branch = told["branch"] or builder.branch
        builder.model = told["model"] or builder.model
        builder.summary = re.sub(about.title_ends, "", told["title"]) or builder.summary
        builder.see(moment(find(record, facts.time)))
        places = (facts.input, facts.output, facts.cached)
        counts = [count_of(find(record, each)) for each in places]
        if any(counts):
            builder.count("", *counts)
        self.is_own = self.is_own or facts.skip
        kind = slug(text_of(find(record, facts.called)))
        if facts.child and not builder.subagent:
            builder.subagent = session_name(find(record, facts.child)) or "subagent"
            kind = kind or "subagent"
        if builder.subagent and kind:
            builder.agent_id = f"{about.agent or about.name}/{kind}"
        if facts.subagent:
            self.asker, builder.agent_id = "parent", f"{builder.agent_id}/subagent"

    def _message(self, number: int, record: Record, message: Record, place: Messages) -> None:
        blocks = [
            block
            for each in place.blocks
            for block in _blocks(find(message, each) if each else message)
        ]
        if place.is_head:
            self._end(self.head, self.head_place)
            self.head, self.head_place = message, place
        told = (message, record, self.head)
        word = place.role or _word(_first(told, place.role_at))
        role = place.roles.get(word, word if place.role else "")
        if not role:
            named = {"type": f"message.{word}"} if word.isdigit() else message
            self.unknown.note(named, word not in self.about.silent)
            return
        at = moment(_first((record, message, self.head), place.time))
        identity = _word(find(message, place.id) or find(record, place.id)) or f"L{number}"
        builder = self.builder
        builder.see(at)
        builder.model = text_of(find(message, place.model)) or builder.model
        self._count_tokens(message, place, identity)
        text = "\n".join(filter(None, (self._text(block) for block in blocks)))
        if role in {"user", "parent"}:
            asker = "" if role == self.asker else "parent"
            typed = re.findall(self.about.asked, text) if self.about.asked else ()
            self.ask(number, spoken("\n".join(typed) or text), at, identity, asker)
        elif role == "assistant":
            self.answer(number, text, at, identity)
        for position, block in enumerate(blocks):
            own = identity if self.head else ""
            made = self._call(block, (number, position), at, identity, own)
            self._result(block, number, made, is_one=role == "tool")
            names = find(block, self.about.blocks.files)
            files = map(text_of, names if isinstance(names, list) else ())
            builder.files.update(dict.fromkeys(filter(None, files)))
        if not place.is_head:
            self._end(message, place)

    def _end(self, message: Record, place: Messages) -> None:
        word = _word(find(message, place.ends))
        ends = self.about.ends.get(word, self.about.ends.get("*")) if word else None
        self.last_event = ends or self.last_event
        if ends == "error":
            self.builder.error = text_of(find(message, place.error))

    def _count_tokens(self, message: Record, place: Messages, identity: str) -> None:
        sums = [
            sum(count_of(find(message, each)) for each in places)
            for places in (place.input, place.output, place.cached)
        ]
        if any(sums):
            self.builder.count(identity, *sums)

    def _text(self, block: Record) -> str:
        about = self.about.blocks
        kind = _kind(block, about)
        is_text = kind in about.texts or (not kind and about.text)
        is_shown = is_text and not any(find(block, way) for way in about.hidden.split("|"))
        text = text_of(find(block, about.text)) if is_shown else ""
        is_known = is_text or kind in about.silent or self._is_call(block) or self._is_result(block)
        self.unknown.note(block, not is_known)
        return text

    def _is_call(self, block: Record) -> bool:
        about = self.about.blocks
        is_named = bool(text_of(find(block, about.tool)).strip())
        return is_named and find(block, about.given) is not None and _may_be(block, about)

    def _is_result(self, block: Record) -> bool:
        about = self.about.blocks
        is_told = find(block, about.told) is not None or _said(about, block) is not None
        return is_told and _may_be(block, about)

    def _call(
        self, block: Record, place: tuple[int, int], at: datetime | None, identity: str, own: str
    ) -> str:
        """Take in a call, and return its id; one that another call has makes way for ``own``."""
        about, number = self.about.blocks, place[0]
        if not self._is_call(block):
            return ""
        tool = text_of(find(block, about.tool)).strip()
        call_id = _word(find(block, about.call)).strip()
        if not call_id:
            call_id = f"L{number}-{place[1]}"
            self.waiting += [] if self._is_result(block) else [call_id]
        call_id = own if own and call_id in self.builder.calls else call_id
        tool = "shell" if tool in self.about.shells else tool
        given = _object(find(block, about.given))
        self.use(number, block, (call_id, tool, given), at, record_id=identity)
        return call_id

    def _result(self, block: Record, number: int, made: str, *, is_one: bool) -> None:
        about = self.about.blocks
        if not (self._is_result(block) or (is_one and find(block, about.result) is not None)):
            return
        named = made or _word(find(block, about.result))
        if self.waiting and named not in self.builder.calls:
            named = self.waiting.pop(0)
        call = self.ending(named)
        if call is not None:
            output = text_in(find(block, about.told))
            self.builder.end(call, number, output, *outcome_of(about, call.tool, block, output))

    def finish(self, lines: TranscriptLines) -> Reading:
        self._end(self.head, self.head_place)
        if self.is_own:
            return Reading(skipped="the agent's own session, not work")
        if self.about.parent_id and not lines.joined:
            self.branches.keep_in(self.builder)
        return self.builder.reading(lines, self.last_event, self.unknown)


def outcome_of(
    about: Blocks, tool: str, block: Record, output: str
) -> tuple[CallOutcome, int | None]:
    """How a call ended: by its exit code, its status, or words of its output, in this order.

    A command whose exit code is null was ended by something else, whatever its status is.
    """
    said = _said(about, block)
    code, edges = find(block, about.code), f"{output[:_EDGE]}\n{output[-_EDGE:]}"
    if not isinstance(code, int) or isinstance(code, bool) or code == -1:
        found = re.search(about.codes, edges) if about.codes and is_shell(tool) else None
        code = int(found[found.lastindex or 0]) if found else None
    place, _, name = about.code.rpartition(".")
    is_null = mapping(find(block, place)).get(name, 0) is None
    if said is CallOutcome.OK and is_shell(tool) and is_null:
        said = None
    if code and said in {None, CallOutcome.OK, CallOutcome.FAILED}:
        return CallOutcome.FAILED, code
    if not about.sure or (said is not CallOutcome.OK and code != 0):
        told = (outcome for outcome, words in about.words.items() if re.search(words, edges))
        said = next(told, said)
    if said is CallOutcome.OK and code is None and about.zero and is_shell(tool):
        code = 0
    unsaid = about.unsaid_command if is_shell(tool) else about.unsaid
    said = said or (CallOutcome.OK if code == 0 else unsaid)
    return said, code if said in {CallOutcome.OK, CallOutcome.FAILED} else None


def _said(about: Blocks, block: Record) -> CallOutcome | None:
    """The outcome of the first of the places of a status that holds a word with one."""
    words = (_word(find(block, way)).lower() for way in about.status.split("|"))
    said = (about.statuses.get(word, about.statuses.get("*")) for word in words if word)
    return next(filter(None, said), None)


def _first(records: Iterable[Record], place: str) -> object:
    return next(filter(None, (find(record, place) for record in records)), None)


def text_in(value: object) -> str:
    """Return the text of a value: itself, those of the texts and contents in it, or its JSON."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_in, value)))
    if isinstance(value, dict):
        inside = find(value, _TEXTS)
        return json.dumps(value) if inside is None and value else text_in(inside)
    return text_of(value)


def _blocks(value: object) -> list[Record]:
    if isinstance(value, str):
        return [{"text": value}]
    values = value if isinstance(value, list) else [value]
    plain = ({"text": each} if isinstance(each, str) else each for each in values)
    return [each for each in plain if isinstance(each, dict)]


def _kind(block: Record, about: Blocks) -> str:
    """What a block calls itself; of ``{"ToolUse": {...}}`` the name of its only member."""
    named = _word(find(block, about.kind))
    return named or (next(iter(block)) if len(block) == 1 else "")


def _may_be(block: Record, about: Blocks) -> bool:
    return not about.kinds or _kind(block, about) in about.kinds


def _word(value: object) -> str:
    """A plain value as a word: ``true``, ``7``, or the text that it is."""
    if isinstance(value, bool | int):
        return str(value).lower()
    return text_of(value)


def _object(value: object) -> Record:
    """Arguments as an object; some formats hold them as JSON text."""
    try:
        return mapping(json.loads(value or "{}") if isinstance(value, str) else value)
    except (ValueError, RecursionError):
        return {"input": value}


_FACTS: Final = ("session", "parent", "project", "branch", "model", "title")
