"""What a digest is worth: its tokens by kind, what it repeats, and whether it holds the remedy.

    python -m benchmarks.digest_value DIR

The sessions in DIR are replayed in the order of time, as ``benchmarks.prevention`` does: at every
prompt the agent is given its digest, and when a session is over it is imported and learnt from.
Three replays are counted: the first, while the store grows; a second, when all sessions have been
learnt from and every lesson is approved; and a second when nothing is approved. Tokens are of the
text that was handed over: the *frame* is the directive, fences and headers, the rest belongs to the
kind of the memory that it was taken from.
*Repeated* are sentences that stood in the same digest before, or in an earlier one of the session.
A *failure* is one of the session's later calls that an earlier session knows how to put right; its
remedy is *inside* if the digest says most words of what was run instead, or names the files that
were changed before the same command worked; it is *known* if this digest or an earlier one of the
session does. What is no command is left out: which words put an edit right can't be told.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.prevention import BAD, Replay, by_prompt, executions_in
from benchmarks.table import Grid, Report, Row, command_line
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.engine import Engine
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall
from synthorg_tui.memory.kinds import kind_of
from synthorg_tui.settings.loader import shipped_settings

KINDS = ("knowledge", "lesson", "recovery", "diary", "frame")
ENOUGH = 0.6
"""The share of the words of a remedy that a text must say to hold it."""

_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
_FRAME = re.compile(r"^</?[a-z-]+>$|^(?:\[shared\] )?\[[a-z]+(?: \| [^\]]*)?\]\s*", re.M)
_OF_KIND = {"recovery": "recovery", "refused": "recovery", "lesson": "lesson"}
_KNOWLEDGE = ("knowledge", "fact")


@dataclass(slots=True)
class Worth:
    """The figures of one replay."""

    prompts: int = 0
    answered: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    again: int = 0
    failures: int = 0
    inside: int = 0
    known: int = 0

    def as_line(self) -> list[float]:
        total = sum(self.tokens.values())
        kinds = [float(self.tokens[kind]) for kind in KINDS]
        of_texts = max(1, total - self.tokens["frame"])
        shares = [self.repeated / of_texts, self.again / of_texts]
        counts = map(float, (self.failures, self.inside, self.known))
        return [self.prompts, self.answered, total, *kinds, *shares, *counts]

    def __add__(self, other: "Worth") -> "Worth":
        return Worth(
            self.prompts + other.prompts,
            self.answered + other.answered,
            self.tokens + other.tokens,
            self.repeated + other.repeated,
            self.again + other.again,
            self.failures + other.failures,
            self.inside + other.inside,
            self.known + other.known,
        )


COLUMNS = (
    "prompts",
    "answered",
    "tokens",
    *KINDS,
    "repeated",
    "again",
    "failures",
    "inside",
    "known",
)


class DigestReplay(Replay):
    """A replay that looks at what the digests say, not at the hints."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.worth = Worth()
        self._remedies: dict[str, str] = {}

    async def session(self, execution: Execution) -> None:
        """Give the digests of one session and look whether they hold what it will need."""
        identity = AgentIdentity(
            execution.agent_id,
            project=execution.project,
            session_id=execution.session_id,
            client="digest_value",
        )
        session = self._engine.gateway.connect(identity)
        handed: list[str] = []
        try:
            for prompt, calls in by_prompt(execution):
                if not prompt.strip():
                    continue
                text = await self._given(session, prompt, handed)
                handed.append(text)
                later = [call for call in execution.calls if call.call_line >= _start(calls)]
                self._look(execution, later if calls else [], handed)
        finally:
            self._engine.gateway.disconnect(session)

    async def learn(self, execution: Execution, path: Path) -> None:
        """Learn as ``prevention`` does, and remember what put each failure right."""
        await super().learn(execution, path)
        self.remember(execution)

    async def only_import(self, execution: Execution, path: Path) -> None:
        """Import a session, and leave what it proposes undecided."""
        await self._engine.imports.run([path])
        self._taught.learn(execution)
        self.remember(execution)

    def remember(self, execution: Execution) -> None:
        calls = {call.id: call for call in execution.calls}
        for recovery in execution.recoveries:
            failed, worked = calls[recovery.failed_call], calls[recovery.resolved_by]
            between = [calls[call_id] for call_id in recovery.between]
            line = execution.ref(failed.call_line, failed.call_line)
            if failed.is_shell:
                self._remedies[str(line)] = _remedy(failed, worked, between)

    async def _given(self, session: AgentSession, prompt: str, handed: list[str]) -> str:
        served = await session.digest(prompt[:8_000])
        worth = self.worth
        worth.prompts += 1
        worth.answered += bool(served.text)
        if not served.text:
            return ""
        (record,) = await self._engine.gateway.calls(limit=1)
        worth.tokens.update(_tokens_by_kind(served.text, json.loads(record.explanation)))
        before = {piece for text in handed for piece in _pieces(text)}
        here: set[str] = set()
        for piece in _pieces(served.text):
            worth.repeated += estimate_tokens(piece) if piece in here else 0
            worth.again += estimate_tokens(piece) if piece in before else 0
            here.add(piece)
        return served.text

    def _look(self, execution: Execution, calls: list[ToolCall], handed: list[str]) -> None:
        """Count the failures that are known, and those whose remedy the digests say."""
        for call in calls:
            if call.outcome not in BAD:
                continue
            remedies = self._remedies_of(self._taught.alike(execution, call))
            if not remedies:
                continue
            self.worth.failures += 1
            self.worth.inside += any(_says(handed[-1], remedy) for remedy in remedies)
            self.worth.known += any(_says(text, remedy) for text in handed for remedy in remedies)

    def _remedies_of(self, refs: list[SourceRef]) -> set[str]:
        return {remedy for ref in refs if (remedy := self._remedies.get(str(ref)))}


def _start(calls: list[ToolCall]) -> int:
    return min((call.call_line for call in calls), default=sys.maxsize)


def _remedy(failed: ToolCall, worked: ToolCall, between: list[ToolCall]) -> str:
    """The words that the call which worked has more, else the files that were changed for it."""
    had = set(_words(failed.arguments))
    more = [word for word in _words(worked.arguments) if word not in had]
    changed = dict.fromkeys(
        PurePosixPath(call.changed_path).name for call in between if call.changed_path
    )
    names = [name.lower() for name in changed if name.lower() not in failed.arguments.lower()]
    return " ".join(more) or " ".join(names)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w.-]{2,}", text.lower())


def _says(text: str, remedy: str) -> bool:
    wanted = set(remedy.split())
    return bool(wanted) and len(wanted.intersection(_words(text))) >= ENOUGH * len(wanted)


def _pieces(text: str) -> list[str]:
    """The sentences of a digest without its frame, in one spelling."""
    body = _FRAME.sub("", text.partition("\n\n")[2] or text)
    pieces = (" ".join(piece.lower().split()) for piece in _SENTENCE.split(body))
    return [piece for piece in pieces if len(piece) > 12]


def _tokens_by_kind(text: str, explanation: dict[str, Any]) -> dict[str, int]:
    """What the text takes, by the kind of the memory that each part of it is of."""
    found: Counter[str] = Counter()
    for candidate in explanation["candidates"]:
        if candidate["verdict"] in ("included", "pinned"):
            found[_kind(candidate["entry"])] += candidate["tokens"]
    fences = sum(estimate_tokens(match[0]) for match in _FRAME.finditer(text))
    total = explanation["tokens_used"]
    blocks = max(1, sum(found.values()))
    body = max(0, total - explanation["frame_tokens"] - fences)
    tokens = {kind: round(body * count / blocks) for kind, count in found.items()}
    return {**tokens, "frame": total - sum(tokens.values())}


def _kind(entry: dict[str, Any]) -> str:
    kind = kind_of(MemoryCategory(entry["category"]), entry["tags"], entry["content"])
    return "knowledge" if kind in _KNOWLEDGE else _OF_KIND.get(kind, "diary")


async def measured(folder: Path) -> dict[str, Worth]:
    """Replay the sessions of a folder on new stores, and return the figures of each replay."""
    sessions = executions_in(folder)
    with tempfile.TemporaryDirectory() as scratch:
        async with Engine.open(shipped_settings(), data_dir=Path(scratch)) as engine:
            replay = DigestReplay(engine)
            for execution, path in sessions:
                await replay.session(execution)
                await replay.learn(execution, path)
            first, replay.worth = replay.worth, Worth()
            approved = await _again(replay, sessions)
    with tempfile.TemporaryDirectory() as scratch:
        async with Engine.open(shipped_settings(), data_dir=Path(scratch)) as engine:
            replay = DigestReplay(engine)
            for execution, path in sessions:
                await replay.only_import(execution, path)
            undecided = await _again(replay, sessions)
    worths = {"first": first, "again, approved": approved, "again, undecided": undecided}
    return {**worths, "all": first + approved + undecided}


async def _again(replay: DigestReplay, sessions: list[tuple[Execution, Path]]) -> Worth:
    for execution, _ in sessions:
        anew = execution.model_copy(update={"session_id": f"{execution.session_id}-again"})
        await replay.session(anew)
    return replay.worth


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of transcripts")
    options = parser.parse_args()
    os.environ.pop("CLAUDECODE", None)
    worths = asyncio.run(measured(options.folder))
    columns = {"": list(worths)}
    lines = {
        name: [worth.as_line()[place] for worth in worths.values()]
        for place, name in enumerate(COLUMNS)
    }
    grid = Grid("", columns[""], lines, digits=2)
    rows: list[Row] = grid.as_rows()
    report = Report("digest_value", {"sessions in": options.folder.name}, rows)
    print(report.as_json() if options.json else grid.as_table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
