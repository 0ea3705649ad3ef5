"""Tool calls as text, for models that were not made to call tools or whose server can't.

The model is told of the tools in the system message and writes one block a turn: an object between
``<tool_call>`` and ``</tool_call>``, the form that most open models know. The end of the block is
a stop text, so that a model can't go on and invent the result. What came of a call is told as a
message of the user. Only what the model itself wrote is ever read for calls; running one is for
the caller.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_EXAMPLE: Final = f'{_OPEN}{{"name": "...", "arguments": {{...}}}}{_CLOSE}'
_INSTRUCTION: Final = """You can call these tools:
{tools}
To call one, write one block and stop:
{example}
Its result is the next message. Don't announce a call: write the block. One block a turn.
For example: {call}
When the task is done, answer in plain text without a block."""
_CODE_BLOCK: Final = re.compile(r"\A```\w*\n(?P<inner>.*?)\n?```\Z", re.DOTALL)
_NO_CALL: Final = "none was called"
_ESCAPED: Final = r"<\/"
"""The beginning of an end mark within a string of JSON."""


def told_in_text(
    messages: Sequence[ChatMessage], options: CompletionOptions
) -> tuple[list[ChatMessage], CompletionOptions]:
    """Return conversation and options for a model that is told of its tools in words.

    Earlier calls become text of the assistant, their results messages of the user. The options
    offer no tools any more; the end of a block is one of their stop texts.
    """
    tools = "\n".join(map(_line, options.tools))
    call = _block(_sample(options.tools[0]))
    instruction = _INSTRUCTION.format(tools=tools, example=_EXAMPLE, call=call)
    plain = [_plain(message, messages) for message in messages]
    if plain and plain[0].role is MessageRole.SYSTEM:
        joined = f"{plain[0].content}\n\n{instruction}"
        plain[0] = plain[0].model_copy(update={"content": joined})
    else:
        plain.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=instruction))
    update = {"tools": (), "stop": (*options.stop, _CLOSE)}
    return plain, options.model_copy(update=update)


def read_from_text(
    answer: Completion, messages: Sequence[ChatMessage], tools: Iterable[ToolDefinition]
) -> Completion:
    """Return ``answer`` with the call that its text holds, if it holds one.

    Text before the call stays; what a model wrote behind its first block is dropped. A block that
    can't be read becomes a ``format_error``. An answer that is nothing but the object of a call of
    one of ``tools``, bare or in a code block, is a call, too: small models forget the marks.
    """
    text, mark, rest = answer.text.partition(_OPEN)
    if not mark:
        return _bare(answer, messages, {tool.name for tool in tools})
    try:
        name, arguments = _call_in(rest)
    except ValueError as error:
        problem = str(error)
        if answer.finish_reason is FinishReason.MAX_TOKENS:
            problem = "it was cut off, since the answer became too long"
        told = f"The tool call can't be read: {problem}. Write it as {_EXAMPLE}"
        return answer.model_copy(update={"text": text.strip(), "format_error": told})
    return _with_call(answer, text.strip(), name, arguments, messages)


def call_id(messages: Sequence[ChatMessage], place: int = 0) -> str:
    """Return an id for a call that the model gave none, unique within the conversation."""
    return f"call_{sum(len(message.tool_uses) for message in messages) + place + 1}"


def _bare(answer: Completion, messages: Sequence[ChatMessage], names: set[str]) -> Completion:
    """The answer as a call if it is the object of one and nothing else."""
    text = answer.text.strip()
    fenced = _CODE_BLOCK.match(text)
    inner = fenced["inner"].strip() if fenced else text
    if not (inner.startswith("{") and inner.endswith("}")):
        return answer
    try:
        name, arguments = _call_in(inner)
    except ValueError:
        return answer
    return _with_call(answer, "", name, arguments, messages) if name in names else answer


def _with_call(
    answer: Completion,
    text: str,
    name: str,
    arguments: Mapping[str, Any],
    messages: Sequence[ChatMessage],
) -> Completion:
    use = ToolUse(id=call_id(messages), name=name, arguments=arguments)
    update = {"text": text, "tool_uses": (use,), "finish_reason": FinishReason.TOOL_USE}
    return answer.model_copy(update=update)


def _call_in(block: str) -> tuple[str, Mapping[str, Any]]:
    """Name and arguments in the JSON of a block; a ``ValueError`` says what is wrong with it.

    The block ends with the mark of its end that isn't within a string, or with the text.
    """
    block = block.strip()
    try:
        found, end = json.JSONDecoder().raw_decode(block)
    except ValueError as error:
        raise ValueError(f"it isn't JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if block[end:].partition(_CLOSE)[0].strip():
        raise ValueError("there is more than one object in it")
    if not isinstance(found, dict):
        raise ValueError("it isn't an object")
    name, arguments = found.get("name"), found.get("arguments", {})
    if not isinstance(name, str) or not name.strip():
        raise ValueError('"name" is missing')
    if not isinstance(arguments, dict):
        raise ValueError('"arguments" is not an object')
    return name.strip(), arguments


def _line(tool: ToolDefinition) -> str:
    """A tool in a line: its name, its arguments with their types, what it does."""
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    arguments = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(schema)}"
        for name, schema in properties.items()
    )
    return f"- {tool.name}({arguments}): {' '.join(tool.description.split())}"


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if choices := schema.get("enum"):
        return " | ".join(json.dumps(choice) for choice in choices)
    kind = schema.get("type", "any")
    return " | ".join(map(str, kind)) if isinstance(kind, list | tuple) else str(kind)


def _plain(message: ChatMessage, messages: Sequence[ChatMessage]) -> ChatMessage:
    """A message whose calls or result are part of its text."""
    if message.role is MessageRole.TOOL:
        content = f"Result of {_called(message.tool_use_id, messages)}:\n{message.content}"
        return ChatMessage(role=MessageRole.USER, content=content)
    if not message.tool_uses:
        return message
    blocks = map(_block, message.tool_uses)
    content = "\n".join(filter(None, [message.content, *blocks]))
    return ChatMessage(role=message.role, content=content)


def _called(use_id: str, messages: Sequence[ChatMessage]) -> str:
    """The name of the tool that a result answers."""
    uses = (use for message in messages for use in message.tool_uses)
    return next((use.name for use in uses if use.id == use_id), _NO_CALL)


def _block(use: ToolUse) -> str:
    """A call as the model wrote it, or would have; a mark within a string is no mark."""
    written = json.dumps({"name": use.name, "arguments": dict(use.arguments)})
    return f"{_OPEN}{written.replace('</', _ESCAPED)}{_CLOSE}"


def _sample(tool: ToolDefinition) -> ToolUse:
    """A call of a tool, to show what one looks like."""
    arguments = dict.fromkeys(tool.parameters.get("required", ()), "...")
    return ToolUse(id="sample", name=tool.name, arguments=arguments)
