"""The rules that a file of rules says, with where each stands and what it holds for.

CLAUDE.md, AGENTS.md, Cursor's rules and their like are Markdown with differences: leading fields,
imports of other files, and our own block of published policies, which is never read back. What is
a rule in Markdown is for ``rule_text``.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from synthorg_tui.core.text import compiled
from synthorg_tui.organisation.marked_block import BEGIN, END
from synthorg_tui.organisation.project_files import (
    FileProblem,
    SourceFile,
    front_matter,
    read_inside,
)
from synthorg_tui.organisation.rule_text import MAX_RULES, FoundRule, find_rules

BLOCK_BEGIN: Final = BEGIN.decode()
BLOCK_END: Final = END.decode()
MAX_IMPORTS: Final = 50
"""Files that one file may import, directly or through others."""
MAX_IMPORT_DEPTH: Final = 5

_IMPORT: Final = r"(?<![\w`@/.])@((?:~|\.{0,2})/?[\w.\-/]+[\w])"
_SCOPES: Final = ("globs", "applyto", "paths", "filematchpattern")


def read_rules(root: Path, file: SourceFile, problems: list[FileProblem]) -> list[FoundRule]:
    """Read the rules of a file and of those that it imports, in the order of the texts.

    An import that leads out of the project, can't be read or comes back to itself is a problem.
    """
    rules: list[FoundRule] = []
    read = {file.path}
    waiting = [(file.path, file.text, 0)]
    while waiting:
        path, text, depth = waiting.pop(0)
        fields, body = front_matter(text)
        body, problem = _without_block(body)
        if problem:
            problems.append(FileProblem(path, problem))
        found = find_rules(body)
        if len(found) == MAX_RULES:
            problems.append(FileProblem(path, f"only the first {MAX_RULES:,} rules are read"))
        scope = next((fields[name] for name in _SCOPES if fields.get(name)), "")
        # A rule without a heading has its file's description, else its name.
        title = (fields.get("description", "") or PurePosixPath(path).stem.lstrip("."))[:120]
        rules += [
            replace(rule, section=rule.section or title, path=path, scope=scope) for rule in found
        ]
        for named in _imports(body):
            try:
                if depth >= MAX_IMPORT_DEPTH or len(read) > MAX_IMPORTS:
                    raise ValueError("not read: too many imports")
                said, name = _imported(root, path, named)
            except ValueError as error:
                problems.append(FileProblem(path, f"@{named} {error}"))
                continue
            if name and name not in read:
                read.add(name)
                waiting.append((name, said, depth + 1))
    return rules


def _imported(root: Path, path: str, named: str) -> tuple[str, str]:
    """The text of a file that another one imports, and its name; none for a mention (@someone)."""
    if named.startswith(("~", "/")):
        raise ValueError("not read: it is outside of the project")
    target = (PurePosixPath(path).parent / named).as_posix()
    if not (root / target).exists():
        return "", ""
    text, _, name = read_inside(root, target)
    return text, name


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
