"""A skill document as the bytes of its SKILL.md.

The same document gives the same bytes on every machine, since approvals, versions and the check for
edits on disk compare hashes. Reading the bytes back (``validate.parse``) gives the same document.
"""

import dataclasses
import re

from synthorg_tui.skills.document import SkillDocument
from synthorg_tui.skills.markdown import hide_nothing, render_body, with_body, with_heading
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
    text = render_body(document)
    return "\n".join([FENCE, *fields, FENCE, *(["", text] if text else [])]) + "\n"


def clean_document(document: SkillDocument) -> SkillDocument:
    """Normalise a document so that rendering and reading it again loses nothing.

    The texts of our sections are kept to the letter. The name becomes a slug, the description one
    line of ASCII that begins "Use when", keys of metadata plain words; empty steps and evidence
    are dropped; half characters (lone surrogates), which no file can hold, are replaced. Further
    markdown gets a heading when our sections come before it. Known headings in it become sections,
    as a reader splits the text.
    """
    body = _whole(document.body).replace("\r\n", "\n").replace("\r", "\n")
    document = SkillDocument(
        name=skill_name(document.name),
        description=clean_description(document.description),
        heading=_whole(document.heading),
        condition=_whole(document.condition),
        action=_whole(document.action),
        rationale=_whole(document.rationale),
        check=_whole(document.check),
        steps=tuple(_whole(step) for step in document.steps if step),
        evidence=tuple(_whole(reference) for reference in document.evidence if reference),
        metadata=_clean_metadata(document),
        license=_one_line(document.license),
        compatibility=_one_line(document.compatibility)[:MAX_COMPATIBILITY].rstrip(),
        allowed_tools=_one_line(document.allowed_tools),
        body=hide_nothing(body),
    )
    if document.body and render_body(dataclasses.replace(document, body="")):
        document = dataclasses.replace(document, body=with_heading(document.body))
    read = with_body(document, render_body(document))
    while read != document:
        document, read = read, with_body(read, render_body(read))
    return document


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


def _one_line(text: str) -> str:
    return " ".join(_whole(text).split())


def _whole(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
