"""Carries out a run with an agent of others: in a copy of the workspace, without a screen.

The client is given the task with what memory knows about it, works in the copy as its profile lets
it, and tells what it does. What it changed is kept as a patch, which a person looks at and applies;
its own record is imported as that of any other session. What a client's words mean is in
``clients`` and ``dialects``.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import write_atomically
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.records import Record
from synthorg_tui.runtime.engine import GivenMemories
from synthorg_tui.runtime.executors.clients import CLIENTS, InstalledClient
from synthorg_tui.runtime.executors.patches import KeptPatches, files_for_git
from synthorg_tui.runtime.executors.process import (
    ClientEnding,
    converse,
    found,
    version_of,
    visible_environ,
)
from synthorg_tui.runtime.executors.stream import ClientSteps
from synthorg_tui.runtime.models import ExecutionResult, RunRequest, RunStep
from synthorg_tui.runtime.protocol import OnStep, RunExecutor
from synthorg_tui.runtime.record import ImportRecords
from synthorg_tui.runtime.steps import RESUMED, result_of
from synthorg_tui.runtime.worktrees import changes_in, environ_of, findings_in, scratch_worktree
from synthorg_tui.skills.names import is_name

GiveMemories = Callable[[str, RunRequest], Awaitable[GivenMemories]]
"""Returns what a run is given of memory, by its id and request."""
_FENCE: Final = "session_context"
"""Tag around what memory gives, which readers of transcripts don't take for a person's words."""
_NO_COST: Final = "it doesn't tell what it costs: the limit on cost isn't watched"
_AGAIN: Final = "it begins again, in a fresh copy: what it did before was in one that is gone"


@dataclass(frozen=True, slots=True)
class ClientParts:
    """What all clients are run with; without a function nothing is given, imported or kept."""

    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    clock: Clock = field(default_factory=SystemClock)
    brief: GiveMemories | None = None
    importer: ImportRecords | None = None
    patches: KeptPatches | None = None


class ClientExecutor:
    """Runs one client of others."""

    def __init__(self, client: InstalledClient, parts: ClientParts) -> None:
        self._client = client
        self._parts = parts
        self._checked: dict[tuple[str, float], str] = {}

    @property
    def name(self) -> str:
        """Name by which a request chooses it."""
        return self._client.name

    async def unavailable(self) -> str:
        """Return why it can't run on this machine; what its program told is asked for once."""
        client = self._client
        program = found(client.name, self._parts.environ)
        install = f"npm install --global {client.package}"
        if not program:
            return f"{client.title} isn't installed: `{client.name}` isn't found. {install}"
        state = program, await asyncio.to_thread(os.path.getmtime, program)
        if state not in self._checked:
            self._checked[state] = _problem(
                client, await version_of(program, self._parts.environ), install
            )
        return self._checked[state]

    async def run(
        self, run_id: str, request: RunRequest, *, steps: Sequence[RunStep], on_step: OnStep
    ) -> ExecutionResult:
        """Carry out a run to its end; one that was interrupted begins again, in a fresh copy.

        Nothing of it is done to the workspace, so nothing is done twice. Raises ``DomainError``
        when no copy can be made or the client can't be started.
        """
        taken = list(steps)

        def emit(step: RunStep) -> None:
            taken.append(step)
            on_step(step)

        told = ClientSteps(
            emit=emit,
            clock=self._parts.clock,
            output_chars=request.limits.output_chars,
            number=steps[-1].number if steps else 0,
        )
        if steps:
            told.note(f"{RESUMED}{_AGAIN}")
        agent = "" if request.agent_id == self._client.agent else request.agent_id
        began = monotonic()
        try:
            async with scratch_worktree(request.workspace, agent_id=agent) as copy:
                work = _Work(self._client, self._parts, run_id, request, told, copy)
                reason, error = await work.carried_out()
        except asyncio.CancelledError:
            await asyncio.shield(self._imported(told.session))
            raise
        result = result_of(run_id, request, taken, reason, error)
        return result.model_copy(
            update={
                "text": told.last_text,
                "seconds": monotonic() - began,
                "execution_id": await self._imported(told.session),
            }
        )

    async def _imported(self, session: str) -> str:
        """Import what the client recorded of the run; empty when it recorded nothing."""
        if self._parts.importer is None or not session:
            return ""
        paths = await asyncio.to_thread(self._transcripts, session)
        if not paths:
            return ""
        report = await self._parts.importer(paths)
        return f"{self._client.reader}:{session}" if report.executions + report.unchanged else ""

    def _transcripts(self, session: str) -> list[Path]:
        """The files of a session and of its subagents, where the client writes."""
        (reader,) = (each for each in READERS if each.name == self._client.reader)
        places = reader.places(self._parts.home, self._parts.environ)
        files = (each for place in places if place.exists() for each in find_transcripts(place))
        return [
            each.path
            for each in files
            if isinstance(each, TranscriptFile)
            and (session in each.path.name or session in each.path.parts)
        ]


def installed_executors(parts: ClientParts | None = None) -> Mapping[str, RunExecutor]:
    """Return an executor for each agent that is known, by name; each tells whether it can run.

    No program is looked for before an executor is asked. Without ``parts`` runs are given no
    memories, and nothing that they leave is kept or imported.
    """
    shared = parts or ClientParts()
    return {client.name: ClientExecutor(client, shared) for client in CLIENTS}


def _problem(client: InstalledClient, version: tuple[int, ...], install: str) -> str:
    least = ".".join(map(str, client.least))
    if not version:
        return f"{client.title} doesn't tell its version: `{client.name} --version`. {install}"
    if version < client.least:
        told = ".".join(map(str, version))
        return f"{client.title} {told} is too old, {least} is the first that can run. {install}"
    return ""


@dataclass(slots=True)
class _Work:
    """One run of a client in a copy."""

    client: InstalledClient
    parts: ClientParts
    run_id: str
    request: RunRequest
    told: ClientSteps
    copy: Path
    stopped: tuple[TerminationReason, str] | None = None
    warnings: list[str] = field(default_factory=list)

    async def carried_out(self) -> tuple[TerminationReason, str]:
        """Run the client to its end and keep what it changed; how it ended, and what went wrong."""
        places = [self._place(skill.name, skill.text) for skill in self.request.skills]
        task = await self._task()
        if self.request.limits.cost is not None and not self.client.tells_cost:
            self.told.note(f"{self.client.title}: {_NO_COST}")
        try:
            reason, error = self._ended(await self._conversation(task))
        except TimeoutError:
            reason, error = TerminationReason.BUDGET_EXHAUSTED, "its time was used up"
        except asyncio.CancelledError:
            await asyncio.shield(self._close("stopped", places))
            raise
        except DomainError as failure:
            reason, error = TerminationReason.ERROR, failure.message
        await self._close(error or reason.value, places)
        return reason, ". ".join(filter(None, (error, *self.warnings)))

    async def _conversation(self, task: str) -> ClientEnding:
        client, parts = self.client, self.parts
        start = client.start(self.request, parts.home, parts.environ)
        environ = environ_of(self.copy, {**visible_environ(parts.environ), **start.environ})
        program = found(client.name, parts.environ) or client.name
        try:
            async with asyncio.timeout(self.request.limits.seconds):
                return await converse(
                    [program, *start.words], self.copy, environ, task, self._heard
                )
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise DomainError(f"{client.title} can't be started: {error.strerror}") from error

    async def _task(self) -> str:
        """What the client is told: what memory gives, fenced as everywhere, before the task."""
        request, brief = self.request, self.parts.brief
        given = await brief(self.run_id, request) if request.memory and brief else None
        text = given.text if given else ""
        self.told.given(text, given.memory_ids if given else ())
        fenced = f"<{_FENCE}>\n{text}\n</{_FENCE}>\n\n" if text else ""
        return f"{fenced}{request.task}"

    def _place(self, name: str, text: str) -> str:
        """Put a skill where the client looks for a project's; the file's path within the copy."""
        if not is_name(name):
            raise DomainError(f"{safe_text(name)[:64]!r} is no name of a skill")
        folder = self.copy
        for part in (*self.client.skills.split("/"), name):
            folder /= part
            if folder.is_symlink():
                raise DomainError(f"{part} is a link in this workspace: no skill is put there")
            folder.mkdir(exist_ok=True)
        write_atomically(folder / "SKILL.md", text.encode(), mode=None, durable=False)
        return str((folder / "SKILL.md").relative_to(self.copy))

    def _heard(self, record: Record) -> bool:
        """Take a record; false when a limit is reached, which ends the client."""
        told, limits = self.told, self.request.limits
        told.skipped += not self.client.understand(record, told)
        if told.turn > limits.turns:
            self.stopped = TerminationReason.MAX_TURNS, f"it took more than {limits.turns} turns"
        elif told.prompt_tokens + told.completion_tokens > limits.tokens:
            self.stopped = TerminationReason.BUDGET_EXHAUSTED, "its tokens were used up"
        elif limits.cost is not None and told.cost > limits.cost:
            self.stopped = TerminationReason.BUDGET_EXHAUSTED, "its money was used up"
        return self.stopped is None

    def _ended(self, ending: ClientEnding) -> tuple[TerminationReason, str]:
        """How it ended: by a limit of ours, by its own word, else by how its process did."""
        told = self.told
        told.skipped += ending.passed_over
        if self.stopped is not None:
            return self.stopped
        if told.reason is TerminationReason.COMPLETED and not ending.exit_code:
            return told.reason, ""
        if told.reason not in (None, TerminationReason.COMPLETED):
            return told.reason, told.told or told.reason.value
        words = ending.words.strip().splitlines()
        said = safe_text(words[-1])[:400] if words else "it said nothing"
        code = "it was ended" if ending.exit_code is None else f"exit code {ending.exit_code}"
        return TerminationReason.ERROR, f"{self.client.title} failed ({code}): {said}"

    async def _close(self, how: str, places: Sequence[str]) -> None:
        """Tell the rest of the run: how it ended, what wasn't understood, what it changed."""
        told = self.told
        told.finish()
        parts = [f"{self.client.title}: {how}"]
        if told.skipped:
            parts.append(f"{counted(told.skipped, 'record')} of its stream can't be read")
        if told.left_out:
            parts.append(f"{counted(told.left_out, 'step')} more aren't kept")
        parts += await self._kept(places)
        told.note(". ".join(parts))

    async def _kept(self, places: Sequence[str]) -> list[str]:
        """Keep what was changed in the copy; what a person must know of it, in words."""
        parts: list[str] = []
        try:
            self.warnings, remarks = await asyncio.to_thread(findings_in, self.copy)
            parts += (*self.warnings, *remarks)
            patch = await asyncio.to_thread(changes_in, self.copy, without=places)
            if names := files_for_git(patch):
                parts.append(f"look at {names} in its changes: git acts on what they say")
            if self.parts.patches is None or not patch:
                parts.append("it changed files" if patch else "it changed no file")
            else:
                keep, workspace = self.parts.patches.keep, self.request.workspace
                parts.append(await asyncio.to_thread(keep, self.run_id, patch, workspace))
        except (DomainError, OSError) as error:
            parts.append(f"what it changed is lost: {error}")
        return parts
