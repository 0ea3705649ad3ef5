"""Generates ``docs/mcp.md`` from the definitions in the code, so that both always agree."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import ORIGIN_TAG
from synthorg_tui.agents.models import AgentAccessConfig
from synthorg_tui.agents.reports import MAX_REPORT
from synthorg_tui.agents.tools import RefusalCode
from synthorg_tui.approvals.proposals import MAX_PENDING
from synthorg_tui.core.text import MAX_AGENT_ID
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES
from synthorg_tui.mcp import DEFAULT_PORT, uris
from synthorg_tui.mcp.http import HOST, PATH
from synthorg_tui.mcp.server import CODES, PROMPT, digest_prompt, resource_templates
from synthorg_tui.mcp.stdio import MAX_MESSAGE
from synthorg_tui.mcp.token import TOKEN_FILE
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies import replies, schemas
from synthorg_tui.memory.strategies.service import MAX_QUERY
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.providers.models import ToolDefinition

_MIB: Final = 1024 * 1024
_ACCESS: Final = AgentAccessConfig()

_REASONS: Final = {
    RefusalCode.INVALID_ARGUMENT: "the arguments don't fit; the message says which and why",
    RefusalCode.GUARDRAIL_VIOLATED: "`missing_actor`, `missing_confirm` (it must be literally `true`)"
    " or `missing_reason`: nothing was destroyed",
    RefusalCode.NOT_FOUND: "nothing that the agent may see has this name or id",
    RefusalCode.CONFLICT: "something else is under way, or a person decided against it",
    RefusalCode.NOT_SUPPORTED: "this store can't do that",
}

_START: Final = f"""\
# MCP

Made from the code by `python -m synthorg_tui.mcp.document > docs/mcp.md`.

`synthorg-tui mcp --agent ID` is an MCP server for one agent. Your agent's program starts it, as it starts any other:

```json
{{"mcpServers": {{"memory": {{"command": "synthorg-tui", "args": ["mcp", "--agent", "claude-code"]}}}}}}
```

`synthorg-tui connect` writes that into the configuration of the programs it knows. The server asks whoever has the store
open: the app, `synthorg-tui serve`, or an owner that it starts and that leaves with its last client. When the owner
goes, the next call is made to the next one.

The agent is who `--agent` says and works in the project that `--project` says, by default the working directory. It sees
its own memories of that project and of no project, and what is shared; never another agent's.
With `--read-only` the tools that write are left out; a person can take writing away, or everything, in the Activity pane or with
`synthorg-tui agents`.
No tool decides on a proposal, changes a policy of the organisation or a setting. Every call is on record.

Protocol versions are those of the official Python SDK: the handshake ones up to 2025-11-25, and 2026-07-28.

## Over HTTP

`synthorg-tui mcp --agent ID --http` listens at `http://{HOST}:{DEFAULT_PORT}{PATH}` (streamable HTTP), on the loopback
interface only. A request needs the header `Authorization: Bearer TOKEN`; the token is in `{TOKEN_FILE}` of the data directory,
made at the first start, and the server refuses to start while others can read that file. Delete it to have a new one made.

| Status | When |
|---|---|
| 401 | the token is missing or wrong; nothing else of the request was looked at |
| 403 | the `Origin` is another than the server's own |
| 404 | the session has ended |
| 413 | the body is longer than {MAX_MESSAGE // _MIB} MiB |
| 421 | the `Host` is another than `{HOST}` or `localhost` with the server's port |
"""

_ADMINISTRATION: Final = f"""\
and, the agent that `agent_access.administrator` names, fine-tuning and its checkpoints. Any other is answered `not_supported`.
What reads answers at once. What an agent started itself it may stop and resume. To deploy, roll back or delete a checkpoint, to
stop or resume a run of somebody else, and to delete a memory of its own that it didn't write makes an item that a person decides
on: `"waiting": ["admin-..."]` names it, the same for the same target, whoever asks. It is done when the person approves; a rejected
one is refused from then on with the person's reason, which the status tells, too. An agent trains on the store's own memories
alone: `{"`, `".join(sorted(tools.NOT_FOR_AGENTS))}` are refused. Lists have
`"pagination": {{"total", "offset", "limit"}}` beside `data`.
"""

_NOTES: Final = f"""\
## Progress, cancelling, changes

A call with a progress token is reported on every second while it lasts. A cancelled request is cancelled in the owner, too.
`notifications/resources/list_changed` tells that a skill was approved or retired, `notifications/tools/list_changed` that the
agent may write again, or no more.

## Writes that wait

With `agent_access.writes: approval` nothing that an agent writes is kept at once. It waits in the Approvals pane until a person approves,
edits or rejects it, and so does a deletion. That is no error: the reply says so and names the item, `(item=write-...)` in words,
`"waiting": ["delete-..."]` in JSON. The run that `report_outcome` tells of is on record at once, its memories wait. What waits
is not asked for twice, what was rejected is refused.

## Errors

A tool that refuses says so in its result, with `isError`. Memory tools do so in words, `{replies.ERROR_PREFIX} ...`; the others in
JSON: `{{"status": "ok", "data": ...}}`, or `{{"status": "error", "error_type", "message", "domain_code"}}` with one of
"""

_LIMITS: Final = f"""\
## Limits

| What | At most |
|---|---|
| a message | {MAX_MESSAGE // _MIB} MiB; a longer one is passed over and answered with an error without an id |
| a question | {MAX_QUERY} characters |
| a report | {MAX_REPORT // _MIB} MiB |
| memories written | {_ACCESS.writes_per_minute} a minute and agent (`agent_access.writes_per_minute`); \
each memory and each lesson that a report leads to is one |
| recoveries of a report | {MAX_REPORTED_RECOVERIES}; `left_out` of the reply names the others |
| proposals that wait for a person | {MAX_PENDING} an agent; then what would add one is refused, reports too |

An agent's id has 1 to {MAX_AGENT_ID} visible characters, no `|`, no space at an end, and doesn't begin with `__`. It is taken as it
is: `Ada` and `ada` are two agents.

What an agent writes is redacted, kept once, marked `{ORIGIN_TAG}` and private. So is each memory drawn from a report: its task
is what the agent says it was asked, and nothing in it is taken for the words of a person. What is learnt from it is shown as
"reported by the agent itself, not recorded", makes no lesson more certain, and waits for a person whatever the settings say. What an agent is given is fenced: text in
`<{replies.TAG_TOOL_RESULT}>`, `<memory-entry>` or `<skill>` is data, and can't close its fence.
"""


def document() -> str:
    """Return the text of ``docs/mcp.md``."""
    codes = [(f"`{code}`", _first_line(kind)) for kind, code in CODES.items()]
    return "\n".join(
        [
            _START,
            "## Tools\n\nEvery agent has\n",
            *_tools(tools.definitions()),
            "and, where `memory.retrieval.strategy` is `context` or `tool_based`,\n",
            *_tools(_searching()),
            "or, where it is `self_editing`,\n",
            *_tools(schemas.definitions()),
            _ADMINISTRATION,
            *_tools(tools.definitions(administrator=True)),
            _prompt(),
            _resources(),
            _NOTES,
            _table(
                ("`domain_code`", "Why"), [(f"`{code}`", _REASONS[code]) for code in RefusalCode]
            ),
            "Prompts and resources answer with an error of the protocol instead:\n",
            _table(
                ("Code", "Why"), [*codes, ("`-32603`", "Anything else; the message says what.")]
            ),
            _LIMITS,
        ]
    )


def _searching() -> tuple[ToolDefinition, ...]:
    return ToolBasedInjectionStrategy(
        backend=InMemoryBackend(), config=MemoryRetrievalConfig()
    ).get_tool_definitions()


def _tools(definitions: Iterable[ToolDefinition]) -> Iterable[str]:
    for tool in definitions:
        kind = "It writes." if tool.name in tools.WRITING else "It only reads."
        schema = json.dumps(_plain(tool.parameters), indent=2)
        yield f"### {tool.name}\n\n{tool.description} {kind}\n\n```json\n{schema}\n```\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _prompt() -> str:
    rows = [
        (f"`{argument.name}`", argument.description or "", "yes" if argument.required else "no")
        for argument in digest_prompt().arguments or ()
    ]
    return f"## Prompt\n\n`{PROMPT}`: {digest_prompt().description}\n\n" + _table(
        ("Argument", "Meaning", "Needed"), rows
    )


def _resources() -> str:
    rows = [
        (f"`{template.uri_template}`", template.description or "", template.mime_type or "")
        for template in resource_templates()
    ]
    return (
        "## Resources\n\nSkills are listed. Names and questions are percent-encoded; without "
        f"`{uris.BUDGET}` a digest has `agent_access.digest_token_budget` "
        f"({_ACCESS.digest_token_budget}).\n\n" + _table(("URI", "Content", "Type"), rows)
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    print(document(), end="")
