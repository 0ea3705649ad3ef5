"""Scripts that Codex writes to call several tools at once, read without being run.

Since 0.144 a call of ``exec`` holds JavaScript such as ``await tools.exec_command({"cmd": "ls"})``.
Each such call in it is one call of a tool; what can't be read as text stays out of its arguments.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from synthorg_tui.ingest.readers.base import items, text_of
from synthorg_tui.ingest.records import Record, mapping

MAX_CALLS: Final = 50
"""Calls that are read of one script."""
_CALL: Final = re.compile(r"\btools\s*(?:\.\s*(\w{1,80})|\[\s*[\"'](\w{1,80})[\"']\s*\])\s*\(\s*")
_STRING: Final = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`"
_LITERAL: Final = re.compile(_STRING)
_BOUND: Final = re.compile(rf"\b(?:const|let|var)\s+(\w{{1,80}})\s*=\s*({_STRING})")
_NAMES: Final = "cmd|command|workdir|sandbox_permissions|path|input|patch"
_FIELD: Final = re.compile(rf"[{{,]\s*[\"']?({_NAMES})[\"']?\s*:\s*({_STRING}|\w{{1,80}})")
_SHORT_FIELD: Final = re.compile(rf"[{{,]\s*({_NAMES})\s*(?=[,}}])")
_HEAD: Final = re.compile(r"\AScript (?P<ended>\w+)[^\n]*\n(?:Wall time[^\n]*\n)?(?:Output:\n?)?")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}


def script_calls(script: str) -> list[tuple[str, Record]]:
    """Return the tools that a script calls, in order, each with its arguments as far as known."""
    texts = {name: _text(literal) for name, literal in _BOUND.findall(script)}
    return [
        (match[1] or match[2], _arguments(script, match.end(), texts))
        for match, _ in zip(_CALL.finditer(script), range(MAX_CALLS), strict=False)
    ]


def script_results(output: object, calls: int) -> list[tuple[str, int | None]]:
    """Return what each of so many calls printed, with its exit code where that was printed.

    What can't be told apart is the first one's.
    """
    parts = [text_of(part.get("text")) for part in items(output)] or [text_of(output)]
    head = _HEAD.match(parts[0])
    parts[0] = parts[0][head.end() :] if head else parts[0]
    ended = "" if head is None or head["ended"] == "completed" else f"{head[0].splitlines()[0]}\n"
    found = [result for part in parts if part for result in _results(part)]
    if calls == 1 or len(found) != calls:
        codes = {code for _, code in found}
        code = codes.pop() if len(codes) == 1 and len(found) <= calls else None
        found = [("\n".join(text for text, _ in found), code)]
        found += [("", None)] * (calls - 1)
    return [(f"{ended}{found[0][0]}", found[0][1]), *found[1:]]


def _arguments(script: str, start: int, texts: dict[str, str]) -> Record:
    """The argument at a place: an object, a string, or the name of one that was bound before."""
    if script[start : start + 1] == "{":
        try:
            return mapping(json.JSONDecoder().raw_decode(script, start)[0])
        except (ValueError, RecursionError):
            return dict(_fields(script, start, texts))
    literal = _LITERAL.match(script, start)
    if literal is not None:
        return {"input": _text(literal[0])}
    name = re.compile(r"\w{1,80}").match(script, start)
    return {"input": texts[name[0]]} if name is not None and name[0] in texts else {}


def _fields(script: str, start: int, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The texts of an object that isn't JSON, up to the next call."""
    following = _CALL.search(script, start)
    end = following.start() if following else len(script)
    for name, value in _FIELD.findall(script, start, end):
        if value[0] in "\"'`":
            yield name, _text(value)
        elif value in texts:
            yield name, texts[value]
    for name in _SHORT_FIELD.findall(script, start, end):
        if name in texts:
            yield name, texts[name]


def _text(literal: str) -> str:
    """The text of a string of JavaScript; what a template puts in stays as it is written."""
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))",
        lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _ESCAPES.get(m[3], m[3]),
        literal[1:-1],
    )


def _results(part: str) -> Sequence[tuple[str, int | None]]:
    """What a printed text holds: results of commands as JSON, or plain text."""
    try:
        value = json.loads(part) if part[:1] in "[{" else None
    except (ValueError, RecursionError):
        value = None
    results = [mapping(one) for one in (value if isinstance(value, list) else [value])]
    if results and all("output" in one for one in results):
        codes = [one.get("exit_code") for one in results]
        return [
            (text_of(one["output"]), code if isinstance(code, int) else None)
            for one, code in zip(results, codes, strict=True)
        ]
    return [(part, None)]
