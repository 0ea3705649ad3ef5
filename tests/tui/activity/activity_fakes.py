"""Agents and their calls in memory: what the Activity pane is tested against."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from synthorg_tui.agents.models import CallKind, CallRecord
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, Stage, Verdict
from synthorg_tui.tui.activity import screen as activity_view
from synthorg_tui.tui.activity.adapter import EngineActivity
from synthorg_tui.tui.activity.models import ActivityEvent, ListedAgent, NamedMemory
from synthorg_tui.tui.widgets import bars
from tests.tui.approvals.approvals_fakes import NOW

# Nothing waits for others in these tests.
activity_view.KEEP_UP_AFTER = 0.001
bars.COUNTED_AGAIN_AFTER = 0.001

SHOP = "/home/ada/shop"
DIGEST = (
    "<memory-digest>\n"
    '<entry category="procedural">\n'
    "Pushing a branch with no upstream fails; `git push -u origin HEAD` sets it.\n"
    "</entry>\n"
    "</memory-digest>"
)
AGENTS = (
    ListedAgent("claude-code", 1, "Claude Code 2.1.4", SHOP, NOW - timedelta(minutes=42), 17),
    ListedAgent("codex", 2, "codex 0.48", SHOP, NOW - timedelta(minutes=3), 4),
    ListedAgent("reviewer", paused=True),
)
_FOUND = "[procedural] (relevance: 0.83) Pushing a branch with no upstream fails."
_GIVEN = ("mem-00001",)
_KINDS = (
    (
        "digest",
        "digest",
        {"query": "push the branch", "token_budget": 1500},
        DIGEST,
        ("mem-00001",),
    ),
    ("tool", "search_memory", {"query": "flaky checkout test"}, _FOUND, ()),
    (
        "tool",
        "archival_memory_write",
        {"content": "Checkout tests need a frozen clock.", "category": "semantic"},
        "Archival memory stored (id=mem-00003, category=semantic).",
        ("mem-00003",),
    ),
    ("skill", "read_skill", {"name": "set-upstream-first-push"}, "<skill>…</skill>", ()),
    ("tool", "recall_memory", {"memory_id": "mem-99999"}, "Error: Memory not found: mem-99999", ()),
    (
        "tool",
        "synthorg_memory_delete_entry",
        {"memory_id": "mem-00005", "confirm": True, "reason": "It is wrong."},
        '{"status": "ok", "data": {"deleted": "mem-00005"}}',
        ("mem-00005",),
    ),
)


def call_of(number: int, *, at: int = 0) -> CallRecord:
    """Return a call; its kind and its agent are derived from ``number``."""
    kind, name, arguments, reply, ids = _KINDS[number % len(_KINDS)]
    wrote = name.endswith(("_write", "_entry"))
    return CallRecord(
        number=number,
        at=NOW - timedelta(seconds=at * 47),
        agent_id=("claude-code", "codex")[number % 2],
        client=("Claude Code 2.1.4", "codex 0.48")[number % 2],
        project=SHOP,
        kind=CallKind(kind),
        name=name,
        arguments=json.dumps(arguments),
        reply=reply,
        is_error=reply.startswith("Error:"),
        tokens=len(reply) // 4,
        milliseconds=3.4 + number % 7,
        memory_ids=ids,
        wrote=wrote,
        explanation="{}" if kind == "digest" else "",
    )


def calls(count: int) -> list[CallRecord]:
    """Return ``count`` different calls, newest first."""
    return [call_of(number, at=count - number) for number in range(count, 0, -1)]


def hinted(number: int = 99) -> CallRecord:
    """Return a call that got a hint."""
    why = {
        "reason": "exact command form",
        "lesson": "git-push-no-upstream",
        "path": "/data/skills/git-push-no-upstream/SKILL.md",
        "command": "git push",
    }
    return call_of(2)._replace(
        number=number,
        kind=CallKind.HINT,
        name="before_action",
        arguments=json.dumps({"command": "git push"}),
        reply="A hint from memory.",
        explanation=json.dumps(why),
        memory_ids=_GIVEN,
        wrote=False,
    )


class FakeActivity(EngineActivity):
    """Calls in a list; undoing moves the memories of a call between live and deleted."""

    is_open = True

    def __init__(self, made: Sequence[CallRecord] = (), agents: Sequence[ListedAgent] = ()) -> None:
        self.made = list(made)
        self.there = list(agents)
        self.error: DomainError | None = None
        self.gate: asyncio.Event | None = None
        self.asked: list[tuple[str, str]] = []
        self.ended: list[int] = []
        self.gone = {"mem-00005"}
        self.erased: set[str] = set()
        self.silent: list[tuple[str, str]] = []
        self.listeners: list[Callable[[ActivityEvent], None]] = []

    async def agents(self) -> tuple[ListedAgent, ...]:
        return tuple(self.there)

    async def calls(self, *, limit: int, agent: str = "", text: str = "") -> tuple[CallRecord, ...]:
        if self.error is not None:
            raise self.error
        self.asked.append((agent, text))
        if self.gate is not None:
            await self.gate.wait()
        found = [
            each
            for each in self.made
            if (not agent or each.agent_id == agent)
            and text.lower() in f"{each.name} {each.arguments}".lower()
        ]
        return tuple(found[:limit])

    async def answer(self, call: CallRecord) -> Explanation | None:
        if not call.explanation or call.kind != "digest":
            return None
        given = Candidate(
            _row("mem-00001", call.agent_id),
            Verdict.INCLUDED,
            "relevant: 0.81, the best of 12",
            dense=0.74,
            sparse=8.1,
            relevance=0.81,
            recency=0.4,
            combined=0.71,
            rank=1,
            tokens=58,
        )
        other = replace(
            given,
            entry=_row("mem-00002", call.agent_id),
            verdict=Verdict.TOO_SIMILAR,
            reason="says nearly the same as one that is in",
            combined=0.64,
            rank=2,
        )
        return Explanation(
            strategy="context",
            agent_id=call.agent_id,
            query="push the branch",
            token_budget=1500,
            tokens_used=58,
            text=DIGEST,
            candidates=(given, other),
            stages=(Stage("retrieve", 2.1), Stage("pack", 0.3)),
        )

    async def memories(self, call: CallRecord) -> tuple[NamedMemory, ...]:
        return tuple(
            NamedMemory(_row(each, call.agent_id), each not in self.gone)
            for each in call.memory_ids
            if each not in self.erased
        )

    async def undo(self, call: CallRecord) -> str:
        ids = set(call.memory_ids)
        if ids <= self.gone:
            self.gone -= ids
            return "Brought back 1 memory"
        self.gone |= ids
        return "Took back 1 memory · u brings back"

    async def silenced(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.silent)

    async def set_silenced(self, kind: str, subject: str, silent: bool) -> None:
        if silent:
            self.silent.append((kind, subject))
        else:
            self.silent.remove((kind, subject))

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        self._change(agent_id, paused=paused)

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        self._change(agent_id, read_only=read_only)

    def _change(self, agent_id: str, **rights: bool) -> None:
        self.there = [
            replace(each, **rights) if each.agent_id == agent_id else each  # type: ignore[arg-type]
            for each in self.there
        ]

    async def disconnect(self, numbers: Sequence[int]) -> None:
        self.ended.extend(numbers)
        self.there = [each for each in self.there if each.number not in numbers]

    def listen(self, listener: Callable[[ActivityEvent], None]) -> None:
        self.listeners.append(listener)

    def tell(self, event: ActivityEvent) -> None:
        """Tell whoever listens, as the engine does after a call."""
        if event.call is not None:
            self.made.insert(0, event.call)
        for listener in self.listeners:
            listener(event)


def _row(memory_id: str, agent_id: str) -> ListedMemory:
    said = "Pushing a branch with no upstream fails; `git push -u origin HEAD` sets it."
    at = NOW - timedelta(hours=2)
    return ListedMemory(memory_id, agent_id, MemoryCategory.PROCEDURAL, said, at)
