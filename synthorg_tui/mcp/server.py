"""The MCP server: requests of a client become calls of its agent.

Only the form of the protocol is here; what an agent may do is decided by the owner of the store.
"""

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from synthorg_tui import __version__
from synthorg_tui.agents.handed import MAX_RECEIPTS, keep_latest
from synthorg_tui.agents.models import AgentRefusedError, SkillNotFoundError
from synthorg_tui.agents.tools import DESTRUCTIVE, WRITING
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import background
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.mcp import uris
from synthorg_tui.mcp.connections import ActingAgent, OwnerPool
from synthorg_tui.mcp.doors import ON_SENT
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.schemas import WORTH_WRITING
from synthorg_tui.providers.models import ToolDefinition

_log = logging.getLogger(__name__)

NAME: Final = "synthorg-tui"
PROMPT: Final = "memory_digest"
PROGRESS_SECONDS: Final = 1.0
"""Seconds between two progress notifications of a call that goes on."""
MAX_LISTENERS: Final = 64
DIGEST_IS: Final = (
    "The organisation's policies, and the facts and memories that fit a task, within a token "
    "budget."
)
NOTHING_FOUND: Final = "No memory fits."
NOTHING_NEW: Final = "Nothing new: what fits was handed over earlier in this session."
INSTRUCTIONS: Final = (
    "Memory of earlier work in this project and elsewhere. Before a task, ask for what is known "
    f"about it; afterwards report how it ended. {WORTH_WRITING} "
    + untrusted_content_directive((replies.TAG_TOOL_RESULT, "memory-entry", "skill"))
)

Context = ServerRequestContext[None, Any]
Acknowledge = Callable[[], Awaitable[None]]
_MARKDOWN: Final = "text/markdown"
_PLAIN: Final = "text/plain"
CODES: Final[dict[type[DomainError], int]] = {
    AgentRefusedError: INVALID_REQUEST,
    SkillNotFoundError: INVALID_PARAMS,
    uris.UnknownResourceError: INVALID_PARAMS,
    uris.InvalidBudgetError: INVALID_PARAMS,
}
"""The codes of refusals in the protocol; anything else is an internal error."""


class MemoryServer(Server[None]):
    """Serves one agent's memory, over connections to the store's owner, to programs acting as it.

    ``connected`` holds these connections open while the server runs.
    """

    def __init__(self, acting: ActingAgent) -> None:
        self._bus = InMemorySubscriptionBus()
        self._unsent: OrderedDict[Any, Acknowledge] = OrderedDict()
        self._sending = asyncio.Lock()
        self._publishing: set[asyncio.Task[None]] = set()
        self._listeners = 0
        self._connections = OwnerPool(
            acting,
            on_skills=lambda: self._publish(ResourcesListChanged()),
            on_tools=lambda: self._publish(ToolsListChanged()),
        )
        super().__init__(
            NAME,
            version=__version__,
            title="Memory desk",
            instructions=INSTRUCTIONS,
            lifespan=_lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscriptions_listen=ListenHandler(self._bus, max_subscriptions=MAX_LISTENERS),
        )
        self.add_notification_handler(
            "notifications/initialized", NotificationParams, self._pass_changes_on
        )

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the SDK's capabilities, plus notifications of changed resources and tools."""
        changes = NotificationOptions(resources_changed=True, tools_changed=True)
        return super().get_capabilities(changes, *args, **kwargs)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Keep the connections to the owner alive inside an ``async with``, then close them."""
        try:
            async with background(self._connections.watch()):
                yield
        finally:
            await self._connections.close()

    def _agent(self, context: Context) -> AgentConnection:
        params = context.session.client_params
        info = params.client_info if params is not None else None
        return self._connections.of(safe_text(f"{info.name} {info.version}") if info else "")

    async def _list_tools(
        self, context: Context, _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        with _protocol_errors():
            offered = await self._agent(context).tools()
        return ListToolsResult(tools=[as_tool(tool) for tool in offered])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        with _protocol_errors():
            _require_json(arguments)
            async with background(_report(context)):
                try:
                    await self._finish_sending()
                    reply = await self._agent(context).call(params.name, arguments)
                except DomainError as error:
                    return _replied(replies.error(error.with_remedy).text, is_error=True)
        self._await_sending(context, reply.receipt)
        return _replied(reply.content, is_error=reply.is_error)

    async def _list_prompts(
        self, _context: Context, _: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[digest_prompt()])

    async def _get_prompt(
        self, context: Context, params: GetPromptRequestParams
    ) -> GetPromptResult:
        given = params.arguments or {}
        if params.name != PROMPT:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name[:64]!r}")
        if not given.get("query", "").strip():
            raise MCPError(INVALID_PARAMS, "query must say what the task is")
        with _protocol_errors():
            budget = uris.parse_budget(given[uris.BUDGET]) if given.get(uris.BUDGET) else None
            text = await self._digest(context, given["query"], budget)
        if not text:  # clients refuse an empty message
            return GetPromptResult(description=NOTHING_FOUND, messages=[])
        content = TextContent(text=text)
        return GetPromptResult(messages=[PromptMessage(role="user", content=content)])

    async def _list_resources(
        self, context: Context, _: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        with _protocol_errors():
            cards = await self._agent(context).skills()
        resources = [
            Resource(
                uri=uris.skill_uri(card.name),
                name=card.name,
                description=safe_text(card.description),
                mime_type=_MARKDOWN,
            )
            for card in cards
            if uris.is_plain_name(card.name)
        ]
        return ListResourcesResult(resources=resources)

    async def _list_templates(
        self, _context: Context, _: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(resource_templates()))

    async def _read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        with _protocol_errors():
            wanted = uris.parse_uri(params.uri)
            if isinstance(wanted, uris.SkillUri):
                async with background(_report(context)):
                    text = await self._agent(context).read_skill(wanted.name)
                kind = _MARKDOWN
            else:
                text = await self._digest(context, wanted.query, wanted.token_budget)
                kind = _PLAIN
        contents = TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        return ReadResourceResult(contents=[contents])

    async def _digest(self, context: Context, query: str, budget: int | None) -> str:
        async with background(_report(context)):
            await self._finish_sending()
            served = await self._agent(context).digest(query, budget)
        self._await_sending(context, served.receipt)
        return served.text or (NOTHING_NEW if served.handed else "")

    def _await_sending(self, context: Context, receipt: str) -> None:
        """Have a receipt acknowledged once the answer to the request was sent.

        Of an HTTP request its protocol knows, of all others ``sending`` is told.
        """
        if receipt:
            acknowledge = partial(self._agent(context).acknowledge, receipt)
            if context.request is not None:
                context.request.scope.setdefault(ON_SENT, []).append(acknowledge)
            else:
                self._unsent[context.request_id] = acknowledge
                keep_latest(self._unsent, MAX_RECEIPTS)  # others were cancelled

    @asynccontextmanager
    async def sending(self, line: str) -> AsyncIterator[None]:
        """Send a message, written as JSON, inside an ``async with``; then acknowledge its receipt.

        Calls that come meanwhile wait, so that what the client has isn't given to it again.
        """
        message = json.loads(line) if self._unsent else {}
        acknowledge = self._unsent.pop(message.get("id"), None) if "result" in message else None
        if acknowledge is None:
            yield
            return
        async with self._sending:
            yield
            await acknowledge()

    async def _finish_sending(self) -> None:
        async with self._sending:
            return

    async def _pass_changes_on(self, context: Context, _: NotificationParams) -> None:
        """Tell a client of the handshake protocols what changes; ends with its connection."""
        if self._listeners >= MAX_LISTENERS:
            return
        changes: asyncio.Queue[ServerEvent] = asyncio.Queue()
        unsubscribe = self._bus.subscribe(changes.put_nowait)
        self._listeners += 1
        try:
            while True:
                if isinstance(await changes.get(), ToolsListChanged):
                    await context.session.send_tool_list_changed()
                else:
                    await context.session.send_resource_list_changed()
        finally:
            self._listeners -= 1
            unsubscribe()

    def _publish(self, event: ServerEvent) -> None:
        task = asyncio.create_task(self._bus.publish(event))
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)


def as_tool(definition: ToolDefinition) -> Tool:
    """Return the tool as an object of the MCP SDK, with hints on whether it writes or deletes."""
    writes = definition.name in WRITING
    return Tool(
        name=definition.name,
        description=definition.description,
        input_schema=dict(definition.parameters),
        annotations=ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=definition.name in DESTRUCTIVE if writes else None,
            open_world_hint=False,
        ),
    )


def digest_prompt() -> Prompt:
    """Return the definition of the MCP prompt whose text is a digest."""
    return Prompt(
        name=PROMPT,
        title="What is known about a task",
        description=DIGEST_IS,
        arguments=[
            PromptArgument(name="query", description="what the task is", required=True),
            PromptArgument(
                name=uris.BUDGET,
                description=f"at most so many tokens, 0 to {uris.MAX_BUDGET}",
                required=False,
            ),
        ],
    )


def resource_templates() -> tuple[ResourceTemplate, ...]:
    """Return the URI templates of the two kinds of resources: a digest and a skill."""
    return (
        ResourceTemplate(
            name=PROMPT,
            uri_template=uris.DIGEST_TEMPLATE,
            description=DIGEST_IS,
            mime_type=_PLAIN,
        ),
        ResourceTemplate(
            name="skill",
            uri_template=uris.SKILL_TEMPLATE,
            description="A skill that a person approved.",
            mime_type=_MARKDOWN,
        ),
    )


def _lifespan(server: "Server[None]") -> AbstractAsyncContextManager[None]:
    assert isinstance(server, MemoryServer)
    return server.connected()


def _replied(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Turn errors into those of the protocol, without the inside of unexpected ones."""
    try:
        yield
    except DomainError as error:
        raise MCPError(CODES.get(type(error), INTERNAL_ERROR), error.with_remedy) from error
    except MCPError:
        raise
    except Exception as error:
        _log.exception("a request failed")
        raise MCPError(INTERNAL_ERROR, f"unexpected {type(error).__name__}") from error


def _require_json(arguments: Mapping[str, Any]) -> None:
    """Refuse numbers that aren't: the SDK's parser lets NaN and infinity in."""
    try:
        json.dumps(arguments, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise MCPError(INVALID_PARAMS, "the arguments are no JSON") from error


async def _report(context: Context) -> None:
    """Tell a client that asked for progress, every so often, that the call goes on."""
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        seconds = time.monotonic() - started
        await context.session.report_progress(seconds, message=f"working for {seconds:.0f} s")
