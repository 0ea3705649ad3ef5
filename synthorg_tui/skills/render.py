"""A skill document as the bytes of its SKILL.md.

The same document gives the same bytes on every machine, since approvals, versions and the check for
edits on disk compare hashes. Reading the bytes back (``validate.parse``) gives the same document.
"""

import dataclasses
import re

from synthorg_tui.skills.document import SkillDocument
from synthorg_tui.skills.markdown import Body, hide_nothing, parse_body, render_body, with_heading
from synthorg_tui.skills.names import clean_description, skill_name

MAX_COMPATIBILITY = 500
FENCE = "---"

_PLAIN_KEY = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNPLAIN = re.compile(r'(?<=--)-|[\\"]|[^ -~]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_KEY = 64


def render(document: SkillDocument) -> str:
    """Render the text of the SKILL.md, ended by a newline.

    ``parse`` gives back ``clean_document(document)``, which is the document itself when it was
    made by ``clean_document``.
    """
    document = clean_document(document)
    fields = [
        f"name: {_key(document.name)}",
        f"description: {quoted(document.description)}",
        *(
            f"{name}: {quoted(value)}"
            for name, value in (
                ("license", document.license),
                ("compatibility", document.compatibility),
                ("allowed-tools", document.allowed_tools),
            )
            if value
        ),
    ]
    if document.metadata:
        pairs = sorted(document.metadata.items())
        fields += ["metadata:", *(f"  {_key(key)}: {quoted(value)}" for key, value in pairs)]
    text = render_body(body_of(document))
    return "\n".join([FENCE, *fields, FENCE, *(["", text] if text else [])]) + "\n"


def clean_document(document: SkillDocument) -> SkillDocument:
    """Normalise a document so that rendering and reading it again loses nothing.

    The texts of our sections are kept to the letter. The name becomes a slug, the description one
    line of ASCII that begins "Use when", keys of metadata plain words; empty steps and evidence
    are dropped; half characters (lone surrogates), which no file can hold, are replaced. Further
    markdown gets a heading when our sections come before it.
    """
    body = Body(
        heading=_whole(document.heading),
        condition=_whole(document.condition),
        action=_whole(document.action),
        rationale=_whole(document.rationale),
        check=_whole(document.check),
        steps=tuple(_whole(step) for step in document.steps if step),
        evidence=tuple(_whole(reference) for reference in document.evidence if reference),
        rest=_clean_markdown(document.body),
    )
    if body.has_sections and body.rest:
        body = dataclasses.replace(body, rest=with_heading(body.rest))
    return with_body(
        SkillDocument(
            name=skill_name(document.name),
            description=clean_description(document.description),
            metadata=_clean_metadata(document),
            license=_one_line(document.license),
            compatibility=_one_line(document.compatibility)[:MAX_COMPATIBILITY].rstrip(),
            allowed_tools=_one_line(document.allowed_tools),
        ),
        _settled(body),
    )


def body_of(document: SkillDocument) -> Body:
    """Return the sections of a document, which stand below the front matter."""
    return Body(
        heading=document.heading,
        condition=document.condition,
        action=document.action,
        rationale=document.rationale,
        check=document.check,
        steps=document.steps,
        evidence=document.evidence,
        rest=document.body,
    )


def with_body(document: SkillDocument, body: Body) -> SkillDocument:
    """Return the document with another body."""
    return dataclasses.replace(
        document,
        heading=body.heading,
        condition=body.condition,
        action=body.action,
        rationale=body.rationale,
        check=body.check,
        steps=body.steps,
        evidence=body.evidence,
        body=body.rest,
    )


def quoted(text: str) -> str:
    """Quote a text as a YAML string: one line of ASCII in which no ``---`` occurs."""
    return '"' + _UNPLAIN.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _key(text: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(text) and text not in _YAML_WORDS
    return text if is_plain else quoted(text)


def _clean_metadata(document: SkillDocument) -> dict[str, str]:
    cleaned: dict[str, str] = {}
    for key, value in document.metadata.items():
        word = re.sub(r"[^A-Za-z0-9_.]+", "-", key)[:_MAX_KEY].strip("-")
        if word:
            cleaned.setdefault(word, _whole(value))
    return cleaned


def _clean_markdown(text: str) -> str:
    return hide_nothing(_whole(text).replace("\r\n", "\n").replace("\r", "\n"))


def _settled(body: Body) -> Body:
    """Return the body as a reader splits it: known headings in further text become sections."""
    read = parse_body(render_body(body))
    while read != body:
        body, read = read, parse_body(render_body(read))
    return body


def _one_line(text: str) -> str:
    return " ".join(_whole(text).split())


def _whole(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
