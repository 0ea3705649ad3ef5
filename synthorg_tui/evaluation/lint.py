"""Lint: what is wrong with the text of a skill, as the reference validator of the format sees it.

Our own reader is lenient, so that one bad field doesn't lose a skill. The reference validator
refuses a file for any field that isn't as specified; here those findings count as errors, too. What
is only advice (a long body, a link out of the folder) stays a warning.
"""

import unicodedata
from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.evaluation.models import LintResult, SkillUnderTest
from synthorg_tui.skills import frontmatter
from synthorg_tui.skills.frontmatter import METADATA, FrontMatter
from synthorg_tui.skills.names import MAX_NAME
from synthorg_tui.skills.render import MAX_COMPATIBILITY
from synthorg_tui.skills.validate import MAX_DESCRIPTION, parse

_FIELDS: Final = frozenset(
    {"name", "description", "license", "compatibility", METADATA, "allowed-tools"}
)


def lint(skill: SkillUnderTest) -> LintResult:
    """Check a skill's text; of more than twenty findings the first are told, and all counted."""
    if not skill.is_file:
        return LintResult()
    _, findings = parse(skill.text, name=skill.name)
    front = frontmatter.split(skill.text)
    refused = frozenset(refused_lines(front, skill.name)) if front.is_read else frozenset()
    errors = [each for each in findings if each.is_error or each.line in refused]
    return LintResult(
        errors=len(errors),
        warnings=len(findings) - len(errors),
        findings=tuple(
            truncate(f"line {finding.line}: {safe_text(finding.message)}", 200)
            for finding in findings[:20]
        ),
    )


def refused_lines(front: FrontMatter, folder: str) -> Iterator[int]:
    """Yield the lines of the fields for which the reference validator refuses a file."""
    name = unicodedata.normalize("NFKC", front.text("name").strip())
    # Letters of any script are as good as a to z.
    is_lower = name == name.lower() and len(name) <= MAX_NAME
    is_strict = is_lower and all(part.isalnum() for part in name.split("-"))
    if name != unicodedata.normalize("NFKC", folder) or not is_strict:
        yield front.line("name")
    description = front.text("description").strip()
    if not description or len(description) > MAX_DESCRIPTION:
        yield front.line("description")
    if len(front.text("compatibility")) > MAX_COMPATIBILITY:
        yield front.line("compatibility")
    for field, value in front.values.items():
        if field not in _FIELDS:
            yield value.line
