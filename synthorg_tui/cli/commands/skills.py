"""``skills``: what is on disk and in memory, and what is wrong with it."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.console import Console, cut, local_time, plural
from synthorg_tui.cli.context import AnyEngine, Context, UsageError
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.paths import expand_home, short_path
from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.document import Finding, RootScope, Severity, SkillFile, SkillRoot
from synthorg_tui.skills.library import RootState, SkillLibrary, read_skill

if TYPE_CHECKING:
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow

INVALID = 1
"""Exit code of ``validate`` when something is wrong."""

_STYLES = {"invalid": "red", "gone": "red", "changed": "yellow", "new": "cyan", "valid": "green"}
_MARKS = {Severity.ERROR: ("error", "red"), Severity.WARNING: ("warning", "yellow")}


@dataclass(frozen=True, slots=True)
class _Checked:
    path: str
    findings: tuple[Finding, ...]

    def is_bad(self, *, strict: bool) -> bool:
        """Whether it can't be used, or not by every reader."""
        return any(strict or each.severity is Severity.ERROR for each in self.findings)


async def run_list(context: Context) -> int:
    """List the skills of every root and those that are only in memory."""
    async with context.engine() as engine:
        shelf = await engine.skills.overview()
    console = context.console
    if context.wants_json:
        roots = [_root(state) for state in shelf.roots]
        console.json({"roots": roots, "skills": [_row(row) for row in shelf.rows]})
        return 0
    if shelf.rows:
        header = ("STATE", "NAME", "WHOSE", "GIVEN", "DESCRIPTION")
        console.table(header, [_cells(row) for row in shelf.rows])
    else:
        console.line("No skills yet; they come from approved proposals, or lie in these folders:")
        for state in shelf.roots:
            console.line(f"  {short_path(str(state.root.path))}")
    for state in shelf.roots:
        if state.problem:
            console.warning(f"{state.root.path}: {state.problem}")
    return 0


async def run_show(context: Context) -> int:
    """Show one skill in full."""
    async with context.engine() as engine:
        found = await engine.skills.skill(await _path_of(engine, context.args.skill))
    if context.wants_json:
        context.console.json(_full(found))
    else:
        _show(context.console, found)
    return 0


async def run_validate(context: Context) -> int:
    """Say what is wrong with the skills named, or with all on disk."""
    strict = context.args.strict
    if context.args.paths:
        checked = await asyncio.to_thread(_read_all, context.args.paths)
    else:
        async with context.engine() as engine:
            rows = (await engine.skills.overview()).rows
        checked = [_Checked(row.path, row.findings) for row in rows if row.scope is not None]
    is_ok = not any(each.is_bad(strict=strict) for each in checked)
    if context.wants_json:
        skills = [
            {
                "path": each.path,
                "ok": not each.is_bad(strict=strict),
                "findings": [_finding(finding) for finding in each.findings],
            }
            for each in checked
        ]
        context.console.json({"ok": is_ok, "skills": skills})
    else:
        _tell(context.console, checked)
    return 0 if is_ok else INVALID


async def run_sync(context: Context) -> int:
    """Put what changed on disk up for review."""
    async with context.engine() as engine:
        report = await engine.skills.sync()
    if context.wants_json:
        told = {"added": list(report.added), "withdrawn": list(report.withdrawn)}
        context.console.json({**told, "found": report.found})
        return 0
    if report.found:
        context.console.line(f"{plural(report.found, 'skill')} lay here already: taken note of.")
        context.console.note("`synthorg-tui skills review NAME` puts one up for review")
    elif not (report.added or report.withdrawn):
        context.console.line("Nothing changed.")
    if report.added:
        context.console.line(f"{plural(len(report.added), 'change')} up for review:")
        for item_id in report.added:
            context.console.line(f"  {item_id}", "bold")
        context.console.note("`synthorg-tui proposals show ID` tells what approving would do")
    if report.withdrawn:
        context.console.line(f"{plural(len(report.withdrawn), 'item')} withdrawn: no longer so.")
    return 0


async def run_review(context: Context) -> int:
    """Put skills up for review that were here before."""
    async with context.engine() as engine:
        paths = [await _path_of(engine, named) for named in context.args.skills]
        offered = [(path, await engine.skills.offer(path)) for path in paths]
    if context.wants_json:
        items = [{"path": path, "item": item_id or None} for path, item_id in offered]
        context.console.json({"skills": items})
        return 0
    for path, item_id in offered:
        told = item_id or "nothing to decide: it is in memory as it is, decided, or shadowed"
        context.console.parts([(short_path(path),), (told, "bold" if item_id else "dim")])
    if any(item_id for _, item_id in offered):
        context.console.note("`synthorg-tui proposals show ID` tells what approving would do")
    return 0


async def _path_of(engine: AnyEngine, named: str) -> str:
    """The path of the file that a name or a path stands for."""
    found = _matching((await engine.skills.overview()).rows, named)
    if not found:
        raise UsageError(f"no skill {named!r}", remedy="`synthorg-tui skills list` names them.")
    if len(found) > 1:
        places = "\n".join(row.path for row in found)
        raise UsageError(f"{named!r} is in several places:\n{places}", remedy="Name a path.")
    return found[0].path


def _matching(rows: "Sequence[SkillOverviewRow]", named: str) -> "list[SkillOverviewRow]":
    path = expand_home(named).absolute()
    paths = {str(path), str(path / FILE_NAME)}
    found = [row for row in rows if row.path in paths or row.name == named]
    return [row for row in found if not row.shadowed_by] or found


def _read_all(paths: Sequence[Path]) -> list[_Checked]:
    return [
        _Checked(str(file.path), file.findings) for path in paths for file in _read(path.absolute())
    ]


def _read(path: Path) -> Iterable[SkillFile]:
    """The skills that a path names: one, or those in a folder of skills."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    folder = (path if path.is_dir() else path.parent).resolve()
    one = read_skill(SkillRoot(folder.parent, RootScope.USER), folder.name)
    found: tuple[SkillFile, ...] = () if one is None else (one,)
    if path.is_dir() and not found:
        found = SkillLibrary([SkillRoot(folder, RootScope.USER)]).scan()
    if not found or (path.is_file() and path.name != found[0].path.name):
        raise UsageError(f"{path} is no skill", remedy=f"A skill is a folder with a {FILE_NAME}.")
    return found


def _tell(console: Console, checked: Sequence[_Checked]) -> None:
    counts: Counter[Severity] = Counter()
    for skill in checked:
        for each in skill.findings:
            counts[each.severity] += 1
            _tell_finding(console, each, f"{skill.path}:{each.line}: ")
    told = [plural(len(checked), "skill")]
    told += [plural(counts[each], _MARKS[each][0]) for each in Severity if counts[each]]
    console.line(", ".join(told) + ("." if counts else ", nothing wrong."))


def _tell_finding(console: Console, finding: Finding, place: str) -> None:
    word, style = _MARKS[finding.severity]
    said = f"{finding.message[:1].upper()}{finding.message[1:]}. {finding.remedy}"
    console.parts([(place,), (f"{word}: ", style), (said,)], separator="")


def _show(console: Console, found: "SkillDetail") -> None:
    row = found.row
    console.parts([(row.name, "bold"), (row.state.value, _STYLES.get(row.state.value, "dim"))])
    facts = [("file", short_path(row.path)), ("given", _given(row))]
    facts += [("gives way to", short_path(row.shadowed_by)), ("waiting", row.waiting)]
    facts += [("memories", ", ".join(found.memory_ids))]
    facts += [("taught by", each.lines) for each in found.evidence]
    facts += [
        ("text", f"{local_time(each.at)} {each.event.value.replace('_', ' ')} by {each.actor}")
        for each in found.versions
    ]
    for label, value in facts:
        if value:
            console.parts([(label.ljust(12), "dim"), (cut(value, max(console.width - 14, 40)),)])
    for finding in row.findings:
        _tell_finding(console, finding, f"line {finding.line}: ")
    if not found.text:
        return
    console.line()
    marked = {each.line: _MARKS[each.severity][1] for each in row.findings}
    for number, line in enumerate(found.text.rstrip("\n").split("\n"), 1):
        style = marked.get(number)
        console.line(f"{number:>4} {'!' if style else ' '} {line}".rstrip(), *filter(None, [style]))


def _cells(row: "SkillOverviewRow") -> tuple[str, ...]:
    whose = row.scope.value if row.scope else ""
    errors = [each.message for each in row.findings if each.severity is Severity.ERROR]
    said = row.description or "; ".join(errors)
    return (row.state.value, row.name, whose, str(row.applied or ""), said)


def _given(row: "SkillOverviewRow") -> str:
    if not row.applied:
        return ""
    return f"{plural(row.applied, 'time')}, last {local_time(row.applied_at)}"


def _root(state: RootState) -> Json:
    return {
        "path": str(state.root.path),
        "scope": state.root.scope.value,
        "exists": state.exists,
        "skills": state.skills,
        "problem": state.problem,
    }


def _row(row: "SkillOverviewRow") -> Json:
    return {
        "name": row.name,
        "path": row.path,
        "scope": row.scope.value if row.scope else None,
        "state": row.state.value,
        "description": row.description,
        "version": row.version,
        "applied": row.applied,
        "applied_at": row.applied_at.isoformat() if row.applied_at else None,
        "shadowed_by": row.shadowed_by or None,
        "waiting": row.waiting or None,
        "findings": [_finding(each) for each in row.findings],
    }


def _full(found: "SkillDetail") -> Json:
    return {
        **_row(found.row),
        "memory_ids": list(found.memory_ids),
        "taught_by": [
            {"execution": each.execution, "lines": each.lines} for each in found.evidence
        ],
        "versions": [
            {
                "version": each.version,
                "at": each.at.isoformat(),
                "by": each.actor,
                "event": each.event.value,
                "sha256": each.sha256,
            }
            for each in found.versions
        ],
        "text": found.text,
    }


def _finding(finding: Finding) -> Json:
    return {
        "line": finding.line,
        "severity": finding.severity.value,
        "message": finding.message,
        "remedy": finding.remedy,
    }
