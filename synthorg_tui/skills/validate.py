"""Turns the text of a SKILL.md into a document and lists everything that is wrong with it.

The rules are those of the Agent Skills format, read leniently: what this program can use is a
warning, what nobody can use an error, each with its line and a remedy. Nothing is raised here:
one bad file in a folder must not hide the others.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.skills import frontmatter
from synthorg_tui.skills.document import Finding, Severity, SkillDocument
from synthorg_tui.skills.frontmatter import METADATA, FrontMatter
from synthorg_tui.skills.markdown import is_plain, with_body
from synthorg_tui.skills.names import MAX_NAME, is_name
from synthorg_tui.skills.render import MAX_COMPATIBILITY

MAX_DESCRIPTION: Final = 1024
MAX_BODY_LINES: Final = 500
MAX_BODY_TOKENS: Final = 5000

_FIELDS: Final = ("name", "description", "license", "compatibility", METADATA, "allowed-tools")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
_NO_FILE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


def check_fields(front: FrontMatter, *, folder: str) -> Iterator[Finding]:
    """What is wrong with the front matter of the skill in ``folder``."""
    yield from _check_name(front, folder)
    description = front.text("description").strip()
    line = front.line("description")
    if not description:
        yield Finding(
            line,
            Severity.ERROR,
            "there is no description",
            "Add description: what it does, and when.",
        )
    elif len(description) > MAX_DESCRIPTION:
        length = f"the description has {len(description):,} characters"
        yield _warning(line, length, f"Cut it to {MAX_DESCRIPTION:,}.")
    compatibility = front.text("compatibility")
    if len(compatibility) > MAX_COMPATIBILITY:
        line = front.line("compatibility")
        yield _warning(
            line,
            f"compatibility has {len(compatibility):,} characters",
            f"Cut it to {MAX_COMPATIBILITY}.",
        )
    for name, value in front.values.items():
        if name not in _FIELDS:
            known = ", ".join(_FIELDS)
            yield _warning(
                value.line,
                f"{name!r} is no field of a skill; strict readers refuse it",
                f"Move it below metadata, or use one of {known}.",
            )
    if METADATA in front.values and front.text(METADATA).strip():
        yield _warning(
            front.line(METADATA), "metadata is no map", "Write `key: value` lines below it."
        )
    for name, value in (*front.values.items(), *front.metadata.items()):
        if not (is_plain(value.text) and is_plain(name)):
            yield _hidden(value.line)


def check_body(body: str, first_line: int) -> Iterator[Finding]:
    """What is wrong with the markdown that begins on ``first_line`` of the file."""
    lines = body.split("\n")
    if not body.strip():
        yield _warning(first_line, "there is nothing below the front matter", "Say what to do.")
    used = len(body.strip("\n").split("\n"))
    if used > MAX_BODY_LINES:
        yield _warning(
            first_line, f"the body has {used:,} lines", f"Keep it under {MAX_BODY_LINES}."
        )
    tokens = estimate_tokens(body)
    if tokens > MAX_BODY_TOKENS:
        yield _warning(
            first_line,
            f"the body has about {tokens:,} tokens",
            f"Keep it under {MAX_BODY_TOKENS:,}.",
        )
    for number, line in enumerate(lines, first_line):
        if not is_plain(line):
            yield _hidden(number)
        for target in _LINK.findall(line):
            yield from _check_link(target, number)


def _check_name(front: FrontMatter, folder: str) -> Iterator[Finding]:
    name, line = front.text("name").strip(), front.line("name")
    if not name:
        yield _warning(line, "there is no name; the folder's is used", f"Add name: {folder}")
    elif name != folder:
        yield _warning(
            line,
            f"the name {name!r} isn't that of the folder, {folder!r}",
            "Rename one of them; the folder's is used.",
        )
    if not is_name(name or folder):
        yield _warning(
            line,
            f"{(name or folder)!r} is no name that strict readers accept",
            f"Use at most {MAX_NAME} of a-z, 0-9 and single hyphens between them.",
        )


def _check_link(target: str, line: int) -> Iterator[Finding]:
    if _NO_FILE.match(target):
        return
    path = target.partition("#")[0]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        yield _warning(line, f"{target!r} is outside the skill's folder", "Copy the file into it.")
    elif len(parts) > 2:
        yield _warning(
            line, f"{target!r} is more than one folder deep", "Keep references one level deep."
        )


def _hidden(line: int) -> Finding:
    return _warning(line, "there are invisible characters", "Remove them, or write what they mean.")


def _warning(line: int, message: str, remedy: str) -> Finding:
    return Finding(line, Severity.WARNING, message, remedy)


_MAX_FINDINGS = 100


def parse(text: str, *, name: str) -> tuple[SkillDocument | None, tuple[Finding, ...]]:
    """Read a file whose folder is called ``name``; never raises.

    The document is ``None`` when a finding is an error. Findings are in the order of their lines;
    of more than a hundred the last says that there are more.
    """
    front = frontmatter.split(text)
    body = islice(check_body(front.body, front.body_line), _MAX_FINDINGS + 1)
    findings = [*front.findings, *body]
    if front.is_read:
        findings += check_fields(front, folder=name)
    findings = _in_order(findings)
    if not front.is_read or any(finding.is_error for finding in findings):
        return None, tuple(findings)
    document = SkillDocument(
        name=name,
        description=front.text("description").strip(),
        metadata={key: value.text for key, value in front.metadata.items()},
        license=front.text("license"),
        compatibility=front.text("compatibility"),
        allowed_tools=front.text("allowed-tools"),
    )
    return with_body(document, front.body), tuple(findings)


def _in_order(findings: list[Finding]) -> list[Finding]:
    if len(findings) > _MAX_FINDINGS:
        findings.sort(key=lambda finding: (finding.severity is not Severity.ERROR, finding.line))
        last = findings[_MAX_FINDINGS - 1]
        more = Finding(last.line, last.severity, "and there is more", "Mend the rest first.")
        findings = [*findings[: _MAX_FINDINGS - 1], more]
    return sorted(findings, key=lambda finding: finding.line)
