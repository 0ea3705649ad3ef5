"""The rules that a file of rules says, with where each stands and what it holds for.

CLAUDE.md, AGENTS.md, Cursor's rules and their like are Markdown with differences: leading fields,
imports of other files, and our own block of published policies, which is never read back. What is
a rule in Markdown is for ``rule_text``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from synthorg_tui.core.text import compiled
from synthorg_tui.organisation.project_files import (
    FileProblem,
    SourceFile,
    front_matter,
    read_inside,
)
from synthorg_tui.organisation.rule_text import MAX_RULES, FoundRule, find_rules

BLOCK_BEGIN: Final = "<!-- synthorg-tui:policies:begin -->"
BLOCK_END: Final = "<!-- synthorg-tui:policies:end -->"
MAX_IMPORTS: Final = 50
"""Files that one file may import, directly or through others."""
MAX_IMPORT_DEPTH: Final = 5

_IMPORT: Final = r"(?<![\w`@/.])@((?:~|\.{0,2})/?[\w.\-/]+[\w])"
_SCOPES: Final = ("globs", "applyto", "paths", "filematchpattern")


@dataclass(frozen=True, slots=True)
class RuleAt:
    """A rule with the file that it stands in, and what of the project it holds for."""

    rule: FoundRule
    path: str
    scope: str = ""

    @property
    def source(self) -> str:
        """Where it stands, as ``AGENTS.md#L12``."""
        return f"{self.path}#L{self.rule.line}"


@dataclass(frozen=True, slots=True)
class FileRules:
    """What a file of rules says, with the files that it imports; ``problems`` in words."""

    rules: tuple[RuleAt, ...]
    problems: tuple[FileProblem, ...] = ()
    imports: tuple[str, ...] = ()


def read_rules(root: Path, file: SourceFile) -> FileRules:
    """Read the rules of a file and of those that it imports, in the order of the texts.

    An import that leads out of the project, can't be read or comes back to itself is a problem.
    """
    rules: list[RuleAt] = []
    problems: list[FileProblem] = []
    read = {file.path: None}
    waiting = [(file.path, file.text, 0)]
    while waiting:
        path, text, depth = waiting.pop(0)
        fields, body = front_matter(text)
        body, problem = _without_block(body)
        if problem:
            problems.append(FileProblem(path, problem))
        scope = next((fields[name] for name in _SCOPES if fields.get(name)), "")
        title = fields.get("description", "")
        found = find_rules(body)
        if len(found) == MAX_RULES:
            problems.append(FileProblem(path, f"only the first {MAX_RULES:,} rules are read"))
        rules += [RuleAt(_titled(rule, title, path), path, scope) for rule in found]
        for named in _imports(body):
            if depth >= MAX_IMPORT_DEPTH or len(read) > MAX_IMPORTS:
                problems.append(FileProblem(path, f"@{named} not read: too many imports"))
                continue
            target = (PurePosixPath(path).parent / named).as_posix()
            _follow(root, target, named, path, depth, read, waiting, problems)
    return FileRules(tuple(rules), tuple(problems), tuple(read)[1:])


def _follow(
    root: Path,
    target: str,
    named: str,
    path: str,
    depth: int,
    read: dict[str, None],
    waiting: list[tuple[str, str, int]],
    problems: list[FileProblem],
) -> None:
    if named.startswith(("~", "/")):
        problems.append(FileProblem(path, f"@{named} not read: it is outside of the project"))
        return
    if not (root / target).exists():
        return  # a mention, such as @someone
    try:
        text, _, name = read_inside(root, target)
    except ValueError as error:
        problems.append(FileProblem(path, f"@{named} {error}"))
        return
    if name not in read:
        read[name] = None
        waiting.append((name, text, depth + 1))


def _titled(rule: FoundRule, title: str, path: str) -> FoundRule:
    """A rule without a heading has its file's description, else its name."""
    if rule.section:
        return rule
    name = title or PurePosixPath(path).stem.lstrip(".")
    return FoundRule(rule.text, rule.category, name[:120], rule.line)


def _without_block(text: str) -> tuple[str, str]:
    """The text with the lines of our own blocks empty; with one that isn't closed, a problem."""
    lines = text.split("\n")
    inside = False
    begun = 0
    for number, line in enumerate(lines):
        mark = line.strip()
        if mark == BLOCK_BEGIN:
            inside, begun = True, number
        if inside:
            lines[number] = ""
        if mark == BLOCK_END:
            inside = False
            lines[number] = ""
    problem = ""
    if inside:
        problem = f"the block that begins in line {begun + 1} has no end: all below is left out"
    return "\n".join(lines), problem


def _imports(text: str) -> Iterator[str]:
    """The files that a text imports, each once, outside of code."""
    bare = compiled(r"(?ms)^\s*(`{3,}|~{3,}).*?^\s*\1|`[^`\n]*`").sub("", text)
    is_file = compiled(r"[~/.].*|.*\.(?:md|mdc|txt)").fullmatch
    yield from filter(is_file, dict.fromkeys(compiled(_IMPORT).findall(bare)))
