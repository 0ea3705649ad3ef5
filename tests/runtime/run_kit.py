"""A scripted model that calls tools, tools that write down what they did, and a runtime of both."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.memory.tools import BaseTool, ToolRegistry, ToolResult
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions, TokenUsage
from synthorg_tui.providers.completion.usage import Prices
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.engine import AgentEngine, EngineParts
from synthorg_tui.runtime.invoker import Invocation, ToolInvoker
from synthorg_tui.runtime.loop import LoopSettings, ParkedDecision, RunTools
from synthorg_tui.runtime.models import AgentRun, RunProfile, RunRequest, RunStatus
from synthorg_tui.runtime.runs import RunStore

USED = TokenUsage(prompt_tokens=100, completion_tokens=10)


def says(text: str) -> Completion:
    """An answer in words, which ends a run."""
    return Completion(text=text, finish_reason=FinishReason.STOP, usage=USED)


def calls(*uses: tuple[str, Mapping[str, Any]], text: str = "") -> Completion:
    """An answer that asks for calls of tools."""
    return Completion(
        text=text,
        finish_reason=FinishReason.TOOL_USE,
        usage=USED,
        tool_uses=tuple(
            ToolUse(id="same", name=name, arguments=arguments) for name, arguments in uses
        ),
    )


def garbled(problem: str = "the block isn't JSON") -> Completion:
    """An answer with a call that can't be read."""
    return Completion(
        text="```tool", finish_reason=FinishReason.STOP, usage=USED, format_error=problem
    )


class ScriptedModel:
    """Gives scripted answers in order; an exception is raised, a number waits that many seconds."""

    def __init__(self, *answers: Completion | Exception | float) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[ChatMessage, ...]] = []
        self.options: list[CompletionOptions] = []

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        self.asked.append(tuple(messages))
        self.options.append(options)
        assert self.answers, "asked more often than scripted"
        answer = self.answers.pop(0)
        if isinstance(answer, int | float):
            await asyncio.sleep(answer)
            return await self.complete(messages, options)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        return None


Respond = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes the reply to a request to a model server, both as JSON."""


@contextmanager
def model_server(respond: Respond) -> Iterator[str]:
    """A model server on this machine that answers so; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            raw = json.dumps(respond(body)).encode()
            with suppress(ConnectionError):  # who asked may have been killed
                self.send_response(200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/v1"
    http.shutdown()
    http.server_close()
    thread.join()


class LineTool(BaseTool):
    """Appends a line to a file of the workspace."""

    def __init__(self, name: str, file: Path, access: ToolAccessLevel) -> None:
        definition = ToolDefinition(
            name=name,
            description="Appends a line.",
            parameters={"type": "object", "properties": {"line": {"type": "string"}}},
        )
        super().__init__(definition, category=ToolCategory.FILE_SYSTEM, access=access)
        self._file = file

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        line = str(arguments.get("line", ""))
        if line == "raise":
            raise RuntimeError("a mistake of the tool")
        if line == "hang":
            with self._file.open("a") as out:
                out.write("begun\n")
            await asyncio.Event().wait()
        with self._file.open("a") as out:
            out.write(f"{line}\n")
        await asyncio.sleep(0.005)  # what is done is known a moment later only
        return ToolResult(content=f"wrote {line}", is_error=line == "fail", exit_code=0)


class Runtime:
    """An agent engine with a scripted model and two tools, ``look`` and ``note``, on a store.

    ``note`` writes; in a run that asks it waits until ``decisions`` has something for its item.
    """

    def __init__(self, database: StoreDatabase, workspace: Path, **settings: Any) -> None:
        self.workspace = workspace
        self.decisions: dict[str, ParkedDecision] = {}
        self.parked: list[ToolUse] = []
        clock = SystemClock()
        self.store = RunStore(database, DuckDBPersistence(database), clock)
        self.model = ScriptedModel()
        self.loop = LoopSettings(clock, Prices(1000.0, 1000.0), first_wait=0.0)
        self.settings = settings

    @property
    def log(self) -> list[str]:
        """The lines that the tools have written."""
        path = self.workspace / "log"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def engine(self, *answers: Completion | Exception | float, **parts: Any) -> AgentEngine:
        self.model = ScriptedModel(*answers)
        strategy = parts.pop("memory_injection_strategy", None)
        wired = EngineParts(
            model=lambda _: self.model,
            registry=self.registry,
            tools=self.tools,
            store=self.store,
            settings=self.loop,
            **parts,
        )
        return AgentEngine(wired, memory_injection_strategy=strategy)

    async def registry(self, run_id: str, request: RunRequest) -> ToolRegistry:
        log = self.workspace / "log"
        return ToolRegistry(
            (
                LineTool("look", log, ToolAccessLevel.SANDBOXED),
                LineTool("note", log, ToolAccessLevel.STANDARD),
            )
        )

    def tools(self, run_id: str, request: RunRequest, registry: ToolRegistry) -> RunTools:
        invoker = ToolInvoker(registry, request.profile, limits=request.limits)

        async def invoke(use: ToolUse, has_leave: bool) -> Invocation:
            return await invoker.invoke(use, has_leave=has_leave)

        async def park(use: ToolUse, why: str, turn: int) -> str:
            self.parked.append(use)
            return f"item-{len(self.parked)}"

        async def decided(item_id: str, use: ToolUse) -> ParkedDecision | None:
            return self.decisions.get(item_id)

        async def used(item_id: str) -> None:
            assert item_id in self.decisions

        def is_harmless(name: str) -> bool:
            return name == "look"

        return RunTools(invoker.definitions(), invoke, is_harmless, park, decided, used)

    def request(self, **values: Any) -> RunRequest:
        limits = values.pop("limits", {})
        return RunRequest(
            **{
                "task": "Note what storks do.",
                "agent_id": "heron",
                "workspace": self.workspace,
                "profile": RunProfile.UNATTENDED,
                "limits": RunLimits(**limits),
                **values,
            }
        )

    async def begin(self, request: RunRequest, run_id: str = "run-1") -> AgentRun:
        run = AgentRun(
            id=run_id,
            request=request,
            status=RunStatus.RUNNING,
            started_at=SystemClock().now(),
        )
        return await self.store.create(run)
