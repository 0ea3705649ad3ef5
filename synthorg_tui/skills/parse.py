"""A SKILL.md as a document, with everything that is wrong with it."""

from itertools import islice

from synthorg_tui.skills import frontmatter
from synthorg_tui.skills.body import parse_body
from synthorg_tui.skills.models import Finding, Severity, SkillDocument
from synthorg_tui.skills.render import with_body
from synthorg_tui.skills.validate import check_body, check_fields

_MAX_FINDINGS = 100


def parse(text: str, *, name: str) -> tuple[SkillDocument | None, tuple[Finding, ...]]:
    """Read a file whose folder is called ``name``; never raises.

    The document is ``None`` when a finding is an error. Findings are in the order of their lines;
    of more than a hundred the last says that there are more.
    """
    parts = frontmatter.split(text)
    body = islice(check_body(parts.body, parts.body_line), _MAX_FINDINGS + 1)
    findings = [*parts.findings, *body]
    if parts.front is not None:
        findings += check_fields(parts.front, folder=name)
    findings = _in_order(findings)
    if parts.front is None or any(each.severity is Severity.ERROR for each in findings):
        return None, tuple(findings)
    front = parts.front
    document = SkillDocument(
        name=name,
        description=front.text("description").strip(),
        metadata={key: value.text for key, value in front.metadata.items()},
        license=front.text("license"),
        compatibility=front.text("compatibility"),
        allowed_tools=front.text("allowed-tools"),
    )
    return with_body(document, parse_body(parts.body)), tuple(findings)


def _in_order(findings: list[Finding]) -> list[Finding]:
    if len(findings) > _MAX_FINDINGS:
        findings.sort(key=lambda each: (each.severity is not Severity.ERROR, each.line))
        last = findings[_MAX_FINDINGS - 1]
        more = Finding(last.line, last.severity, "and there is more", "Mend the rest first.")
        findings = [*findings[: _MAX_FINDINGS - 1], more]
    return sorted(findings, key=lambda each: each.line)
