"""Would a failure have been prevented by what earlier sessions taught?

    python -m benchmarks.prevention DIR [--again]

The sessions in DIR are replayed in the order of time, each by an agent of its own connection. At
every prompt the agent is given its digest; before every call, and after every failed one, a hint is
asked for. When a session is over it is imported, its lessons are proposed, and all are approved, as
by a person who approves everything, so that the next session has them. A failed or blocked call is
*taught* when a call of an earlier session failed alike (the same program and the same error, names
and numbers aside) and later worked. What was wrong with the content teaches nothing about the call:
an error about the code that was examined, the same command again after an edit of the files that
its output named, or an edit that was then made of other text.
A hint counts when that earlier call is in its evidence, and one that was given earlier in the
session counts, too, since the same thing is said only once.
*Noise* is a hint before a call that then went well. With ``--again`` the
figures are of a second replay, when all sessions have been learnt from: few failures come again by
themselves in a handful of sessions.
"""

import asyncio
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.approvals.person import Person
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.engine import Engine
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall
from synthorg_tui.executions.output_lines import signature
from synthorg_tui.executions.recoveries import resolved_failures
from synthorg_tui.ingest.discovery import collect
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.error_lines import ErrorKind, read_error
from synthorg_tui.settings.loader import shipped_settings

PERSON = Person("terminal", "benchmark")
BAD = (CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK)
SAME_TEXT = 0.8
"""The share of words that two texts to replace have in common when they mean the same place."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Tally:
    """The figures of one replay."""

    calls: int = 0
    well: int = 0
    failed: int = 0
    taught: int = 0
    in_digest: int = 0
    before: int = 0
    after: int = 0
    said: int = 0
    told: int = 0
    noise: int = 0
    unasked: int = 0
    digests: int = 0
    digest_tokens: int = 0
    hints: int = 0
    hint_tokens: int = 0
    missed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Given:
    """What was given, with the lines of sessions that it stands on."""

    text: str = ""
    evidence: tuple[SourceRef, ...] = ()

    def tells_of(self, failures: Sequence[SourceRef]) -> bool:
        """Whether one of these failures is in its evidence."""
        return any(
            seen.execution_id == failure.execution_id
            and seen.first_line <= failure.first_line <= seen.last_line
            for seen in self.evidence
            for failure in failures
        )


class Taught:
    """The failures that earlier sessions put right: what each is known by, and who taught it."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, str], list[SourceRef]] = {}

    def alike(self, execution: Execution, call: ToolCall) -> list[SourceRef]:
        """Return where the same failure was put right in earlier executions."""
        mark = _mark(execution, call)
        return self._by.get(mark, []) if mark else []

    def learn(self, execution: Execution) -> None:
        calls = {call.id: call for call in execution.calls}
        answered = {
            recovery.failed_call
            for recovery in execution.recoveries
            if not _of_content(
                calls[recovery.failed_call],
                calls[recovery.resolved_by],
                [calls[call_id] for call_id in recovery.between],
            )
        }
        blocked = resolved_failures(execution.calls, _is_blocked)
        answered |= {execution.calls[place].id for place, _ in blocked}
        for call in execution.calls:
            mark = _mark(execution, call) if call.id in answered else None
            if mark is not None:
                line = execution.ref(call.call_line, call.call_line)
                self._by.setdefault(mark, []).append(line)


def _is_blocked(call: ToolCall) -> bool:
    return call.outcome is CallOutcome.BLOCKED_BY_HOOK


def _of_content(failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall]) -> bool:
    """Whether nothing about the call was wrong, only the files that it was about."""
    if not failed.is_shell:
        one, other = (_words(_replaced(call)) for call in (failed, worked))
        return bool(one) and (one & other).total() < SAME_TEXT * max(one.total(), other.total())
    changed = [call.changed_path for call in between if call.changed_path]
    return (
        failed.arguments == worked.arguments
        and bool(changed)
        and len(changed) == len([call for call in between if call.is_shell or call.changed_path])
        and all(PurePosixPath(path).name in failed.output for path in changed)
    )


def _replaced(call: ToolCall) -> str:
    """The text that an edit was to replace; empty if that isn't known."""
    found = re.search(r'"old_?(?:string|str|text)"\s*:\s*"((?:[^"\\]|\\.)*)"', call.arguments, re.I)
    return found[1] if found else ""


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def _mark(execution: Execution, call: ToolCall) -> tuple[str, str] | None:
    """The program or tool of a failed call, and its error without names and numbers."""
    names = tuple(filter(None, (execution.branch, execution.project)))
    if not call.is_shell:
        words = " ".join(call.output.split())[:200]
        return (call.tool.lower(), signature(words, names)) if words else None
    steps = command_steps(call.arguments)
    error = read_error(call.output, steps[-1]) if steps else None
    if error is None or error.kind is ErrorKind.CODE:
        return None
    return steps[-1].intent, signature(error.line, names)


class Replay:
    """One store that grows session by session."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._taught = Taught()
        self._evidence: dict[str, tuple[SourceRef, ...]] = {}
        self._said: list[Given] = []
        self.tally = Tally()

    async def session(self, execution: Execution) -> None:
        """Replay one session, then learn from it."""
        identity = AgentIdentity(
            execution.agent_id,
            project=execution.project,
            session_id=execution.session_id,
            client="prevention",
        )
        session = self._engine.gateway.connect(identity)
        try:
            given = Given()
            self._said = []
            for prompt, calls in by_prompt(execution):
                if prompt.strip():
                    given = await self._digest(session, prompt)
                for call in calls:
                    await self._call(session, execution, call, given)
        finally:
            self._engine.gateway.disconnect(session)

    async def _digest(self, session: AgentSession, prompt: str) -> Given:
        """Give a digest and return it with its evidence."""
        served = await session.digest(prompt[:8_000])
        self.tally.digests += 1
        self.tally.digest_tokens += served.tokens
        return Given(served.text, await self._evidence_of(served.included))

    async def _call(
        self, session: AgentSession, execution: Execution, call: ToolCall, given: Given
    ) -> None:
        tally = self.tally
        tally.calls += 1
        before = await self._hint(session, "before", execution, call)
        if call.outcome not in BAD:
            tally.well += call.outcome is CallOutcome.OK
            tally.noise += bool(before.text) and call.outcome is CallOutcome.OK
            if before.text and call.outcome is CallOutcome.OK:
                tally.missed.append(f"noise before `{_brief(call)}`: {before.text[:300]}")
            return
        tally.failed += 1
        after = await self._hint(session, "after", execution, call)
        alike = self._taught.alike(execution, call)
        if not alike:
            tally.unasked += bool(after.text)
            if after.text:
                tally.missed.append(f"not taught, after `{_brief(call)}`: {after.text[:300]}")
            return
        tally.taught += 1
        tally.in_digest += given.tells_of(alike)
        tally.before += before.tells_of(alike)
        tally.after += after.tells_of(alike)
        told = any(hint.tells_of(alike) for hint in self._said)
        tally.said += told and not (before.tells_of(alike) or after.tells_of(alike))
        tally.told += told
        if not told:
            tally.missed.append(f"no hint for `{_brief(call)}`")

    async def _hint(
        self, session: AgentSession, moment: str, execution: Execution, call: ToolCall
    ) -> "Given":
        action = AgentAction(
            tool=call.tool,
            command=call.arguments if call.is_shell else "",
            file="" if call.is_shell else _file_of(call),
            error=call.output if moment == "after" else "",
            cwd=execution.project or "",
        )
        hint = await session.hint(moment, action)
        if not hint.text:
            return Given()
        self.tally.hints += 1
        self.tally.hint_tokens += estimate_tokens(hint.text)
        (record,) = await self._engine.gateway.calls(limit=1)
        self._said.append(Given(hint.text, await self._evidence_of(record.memory_ids)))
        return self._said[-1]

    async def _evidence_of(self, memory_ids: Sequence[str]) -> tuple[SourceRef, ...]:
        """The lines of sessions that these memories stand on."""
        found: list[SourceRef] = []
        for memory_id in memory_ids:
            found += self._evidence.get(memory_id, ())
            for entry in await self._engine.desk.lookup(memory_id, limit=1):
                ref = SourceRef.parse(entry.source or "")
                found += [ref] if ref else []
        return tuple(found)

    async def learn(self, execution: Execution, path: Path) -> None:
        """Import the session's file, and approve every lesson that was proposed."""
        await self._engine.imports.run([path])
        await self._engine.learning.learn(word=False)
        for entry in await self._engine.reviews.inbox():
            shown = (await self._engine.reviews.review(entry.item.id)).shown
            try:
                await self._engine.reviews.approve(entry.item.id, shown=shown, person=PERSON)
            except DomainError as error:
                print(f"not approved: {entry.item.title}: {error.message}", file=sys.stderr)
        for record in await self._engine.ledger.active():
            refs = [SourceRef.parse(seen.lines) for seen in record.evidence]
            for memory_id in record.memory_ids:
                self._evidence[memory_id] = tuple(ref for ref in refs if ref is not None)
        self._taught.learn(execution)


def by_prompt(execution: Execution) -> Iterator[tuple[str, list[ToolCall]]]:
    """The calls of a run after each prompt; a subagent's prompt is its task."""
    prompts = [turn for turn in execution.turns if turn.role in ("user", "parent")]
    starts = [turn.first_line for turn in prompts] or [0]
    texts = [turn.text for turn in prompts] or [execution.task]
    ends = [*starts[1:], sys.maxsize]
    for number, (text, end) in enumerate(zip(texts, ends, strict=True)):
        start = 0 if number == 0 else starts[number]
        yield text, [call for call in execution.calls if start <= call.call_line < end]


def _file_of(call: ToolCall) -> str:
    return call.intent.partition(" ")[2]


def _brief(call: ToolCall) -> str:
    return " ".join(call.arguments.split())[:80]


def executions_in(folder: Path) -> list[tuple[Execution, Path]]:
    """Return the sessions in a folder with their files, in the order of time."""
    found = [
        (extracted.execution, file.path)
        for file in collect([folder])[0]
        for extracted in read_file(file).executions
    ]
    return sorted(found, key=lambda pair: pair[0].started_at or LONG_AGO)


async def replayed(folder: Path, data_dir: Path, *, again: bool) -> Tally:
    """Replay all sessions of a folder on a new store and return the figures."""
    sessions = executions_in(folder)
    async with Engine.open(shipped_settings(), data_dir=data_dir) as engine:
        replay = Replay(engine)
        for execution, path in sessions:
            await replay.session(execution)
            await replay.learn(execution, path)
        if again:
            replay.tally = Tally()
            for execution, _ in sessions:
                anew = execution.model_copy(update={"session_id": f"{execution.session_id}-again"})
                await replay.session(anew)
        return replay.tally


def rows(tally: Tally) -> list[Row]:
    share = tally.told / tally.taught if tally.taught else 1.0
    noise = tally.noise / tally.well if tally.well else 0.0
    return [
        Row("calls", tally.calls),
        Row("calls that went well", tally.well),
        Row("calls that failed or were blocked", tally.failed),
        Row("  of these taught by an earlier session", tally.taught),
        Row("    in the digest of the prompt before", tally.in_digest),
        Row("    hinted before the call", tally.before),
        Row("    hinted after the failure", tally.after),
        Row("    hinted earlier in the session", tally.said),
        Row("    hinted, share", share, hold=Limit(">=", 0.9), digits=3),
        Row("  hinted after, not taught", tally.unasked),
        Row("hints before calls that went well", tally.noise),
        Row("  share of such calls", noise, hold=Limit("<=", 0.02), digits=4),
        Row("digests", tally.digests),
        Row("  tokens", tally.digest_tokens),
        Row("hints", tally.hints),
        Row("  tokens", tally.hint_tokens),
    ]


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of transcripts")
    parser.add_argument("--again", action="store_true", help="figures of a second replay")
    parser.add_argument("--verbose", action="store_true", help="tell what was missed, and noise")
    options = parser.parse_args()
    os.environ.pop("CLAUDECODE", None)
    with tempfile.TemporaryDirectory() as scratch:
        tally = asyncio.run(replayed(options.folder, Path(scratch), again=options.again))
    report = Report("prevention", {"sessions in": options.folder.name}, rows(tally))
    print_report(report, as_json=options.json)
    if options.verbose:
        print("\n".join(tally.missed), file=sys.stderr)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
