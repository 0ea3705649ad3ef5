"""A transcript's record read out: what was said and done, without the bookkeeping around it."""

import json
from collections.abc import Iterator

_NAMES = ("type", "role", "name", "subtype", "status")
"""Fields that say what a record is: together they are its heading."""
_BOOKKEEPING = frozenset(
    {
        "uuid",
        "parentUuid",
        "sessionId",
        "requestId",
        "messageId",
        "leafUuid",
        "id",
        "call_id",
        "tool_use_id",
        "toolUseID",
        "sourceToolAssistantUUID",
        "parentToolUseID",
        "maxThinkingTokens",
        "permissionMode",
        "timestamp",
        "version",
        "cwd",
        "gitBranch",
        "slug",
        "userType",
        "isSidechain",
        "caller",
        "signature",
        "encrypted_content",
        "usage",
        "stop_reason",
        "stop_sequence",
        "service_tier",
        "model",
    }
)


def read_out(record: str) -> list[str] | None:
    """The record's heading, then each of its texts under its name; ``None`` when it is no object.

    A text that occurs twice is given once. The lines hold whatever the record did.
    """
    try:
        found = json.loads(record)
        if not isinstance(found, dict):
            return None
        leaves = dict.fromkeys(_leaves("", found))
    except (ValueError, RecursionError):
        return None
    heading = " · ".join(dict.fromkeys(value for name, value in leaves if name in _NAMES))
    made, seen = [heading] if heading else [], set[str]()
    for name, value in leaves:
        if name in _NAMES or value in seen:
            continue
        seen.add(value)
        first, *rest = value.rstrip("\n").split("\n")
        made += [f"{name}  {first}", *(f"  {line}" for line in rest)]
    return made or None


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _BOOKKEEPING:
                yield from _leaves(key, each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(name, each)
    elif isinstance(value, str) and value.startswith("{"):
        yield from _leaves(name, _object(value) or f" {value}")
    elif value not in (None, False, ""):
        yield name, str(value).strip()


def _object(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
