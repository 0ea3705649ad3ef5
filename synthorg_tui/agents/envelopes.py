"""Replies of tools that answer in JSON, and the checks before anything is destroyed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from synthorg_tui.agents.models import ToolReply


class ErrorCode(StrEnum):
    """Why a tool refused."""

    INVALID_ARGUMENT = "invalid_argument"
    GUARDRAIL_VIOLATED = "guardrail_violated"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    NOT_SUPPORTED = "not_supported"


def ok(data: Any) -> ToolReply:
    """``{"status": "ok", "data": ...}``."""
    return ToolReply(json.dumps({"status": "ok", "data": data}, ensure_ascii=False))


def error(kind: str, message: str, code: ErrorCode) -> ToolReply:
    """``{"status": "error", ...}`` with the kind of error, a message and a code."""
    told = {"status": "error", "error_type": kind, "message": message, "domain_code": code}
    return ToolReply(json.dumps(told, ensure_ascii=False), is_error=True)


def waits(item_id: str) -> ToolReply:
    """Nothing has changed yet: a person is asked."""
    said = "a person decides; nothing has changed until then"
    reply = ok({"waiting": [item_id], "note": said})
    return replace(reply, waiting=(item_id,))


def guardrail(arguments: Mapping[str, Any], *, actor: str) -> ToolReply | None:
    """The refusal of a destructive call, or ``None``: actor, literal ``confirm``, reason."""
    reason = arguments.get("reason")
    if not actor.strip():
        return _violated("missing_actor", "it isn't known who asks")
    if arguments.get("confirm") is not True:
        return _violated("missing_confirm", "confirm must be true")
    if not isinstance(reason, str) or not reason.strip():
        return _violated("missing_reason", "reason must say why")
    return None


def _violated(which: str, message: str) -> ToolReply:
    return error("GuardrailViolation", f"{which}: {message}", ErrorCode.GUARDRAIL_VIOLATED)
