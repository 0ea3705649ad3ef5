"""``skills``: lists, checks and reviews skills, on disk and in the registry."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Argument, path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import skills_eval
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Facts,
    Line,
    Lines,
    Note,
    Parts,
    ProgressLine,
    Table,
    View,
    Warn,
    cut,
    local_time,
)
from synthorg_tui.cli.records import fields, shaped
from synthorg_tui.core.actors import actor_words, deed_of
from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow
    from synthorg_tui.engine import Engine
    from synthorg_tui.skills.document import Finding, SkillFile

INVALID: Final = 1
"""Exit code of ``validate`` when something is wrong."""

_STATES: Final = {
    "invalid": "red",
    "gone": "red",
    "changed": "yellow",
    "new": "cyan",
    "valid": "green",
}
_SEVERITIES: Final = {"error": "red", "warning": "yellow"}
_NAMED: Final = "its name, or the path of its file"
_NEXT: Final = "`synthorg-tui proposals show ID` tells what approving would do"


class _Checked(NamedTuple):
    path: str
    findings: "tuple[Finding, ...]"

    def is_bad(self, *, strict: bool) -> bool:
        """Return whether the skill has an error or, if ``strict``, any finding at all."""
        return any(strict or finding.severity.value == "error" for finding in self.findings)


@Command(
    "list",
    "list skills",
    more="Those of projects come\nbefore yours, those before approved lessons, and "
    "those before what is shipped; of one name the first wins.",
).asks
async def list_skills(context: Context, engine: AnyEngine) -> Answer:
    """List the skills in every folder, and those that have no file but only a memory."""
    overview = await engine.skills.overview()
    is_shipped = [row.state is SkillState.SHIPPED for row in overview.rows]
    own = [state.root for state in overview.roots if state.root.scope.value != "shipped"]
    rows = [_cells(row) for row in overview.rows]
    return Answer(
        {
            "roots": shaped(
                overview.roots, "path=root.path scope=root.scope exists skills problem"
            ),
            "skills": [shapes.skill(row) for row in overview.rows],
        },
        [
            bool(rows) and Table(("STATE", "NAME", "WHOSE", "GIVEN", "DESCRIPTION"), rows),
            any(is_shipped)
            and Note("`synthorg-tui skills review NAME` puts one that is shipped up for review"),
            all(is_shipped)
            and (
                "No others yet; they come from approved proposals, or lie in these folders:",
                *(f"  {short_path(str(root.path))}" for root in own),
            ),
            Warn(*(f"{each.root.path}: {each.problem}" for each in overview.roots if each.problem)),
        ],
    )


@Command(
    "show",
    "show a skill, what is wrong with it, and what taught it",
    examples=("skills show push-new-branch", "skills show .claude/skills/release/SKILL.md"),
    arguments=(Argument("skill", metavar="NAME", help=_NAMED),),
).asks
async def show_skill(context: Context, engine: AnyEngine) -> Answer:
    """Show one skill in full."""
    skill = await engine.skills.skill(await _path_of(engine, context.args.skill))
    with ProgressLine(context.console) as line:
        effects = await engine.pruning.effects(
            progress=lambda done, total: line.update(f"{done:,} of {total:,} sessions")
        )
    helps = skills_eval.in_words(await engine.evaluation.known(skill.row.path))
    effect = effects.get(skill.row.path)
    return Answer(shapes.skill_in_full(skill, effect), _skill_view(skill, effect, helps))


@Command(
    "validate",
    "say what is wrong with skills, line by line",
    more="Exits with 1 when a skill\ncan't be used.",
    examples=("skills validate", "skills validate --strict .agents/skills"),
    arguments=(
        Argument(
            "paths",
            nargs="*",
            type=path,
            metavar="PATH",
            help="a SKILL.md, its folder, or a folder of such folders (default: all there are)",
        ),
        Argument(
            "--strict",
            action="store_true",
            help="exit with 1 for what only strict readers refuse, too",
        ),
    ),
).runs
async def validate(context: Context) -> Answer:
    """Print the problems of the named skills, or of all on disk.

    Returns ``INVALID`` when a skill is unusable or, with ``--strict``, has any problem; else 0.
    """
    import asyncio

    strict = context.args.strict
    if context.args.paths:
        checked = await asyncio.to_thread(_read_all, context.args.paths)
    else:
        async with context.engine() as engine:
            rows = (await engine.skills.overview()).rows
        checked = [_Checked(row.path, row.findings) for row in rows if row.scope is not None]
    is_ok = not any(skill.is_bad(strict=strict) for skill in checked)
    return Answer(
        {
            "ok": is_ok,
            "skills": [
                {
                    "path": skill.path,
                    "ok": not skill.is_bad(strict=strict),
                    "findings": shaped(skill.findings, shapes.FINDING),
                }
                for skill in checked
            ],
        },
        _checked_view(checked),
        code=0 if is_ok else INVALID,
    )


@Command(
    "sync",
    "put skills that changed on disk up for review",
    more="Nothing counts\nbefore you have approved it; see `synthorg-tui proposals`.",
).asks
async def sync(context: Context, engine: AnyEngine) -> Answer:
    """Propose the changes of skill files on disk since the last look, for a person's review."""
    report = await engine.skills.sync()
    found = (
        f"{counted(report.found, 'skill')} lay here already: taken note of.",
        Note("`synthorg-tui skills review NAME` puts one up for review"),
    )
    nothing = "" if report.added or report.withdrawn else "Nothing changed."
    added = (
        f"{counted(len(report.added), 'change')} up for review:",
        Lines((f"  {item_id}" for item_id in report.added), "bold"),
        Note(_NEXT),
    )
    gone = f"{counted(len(report.withdrawn), 'item')} withdrawn: no longer so."
    return Answer(
        fields(report, "added withdrawn found"),
        [
            found if report.found else nothing,
            added if report.added else "",
            gone if report.withdrawn else "",
        ],
    )


@Command(
    "review",
    "put skills up for review that were here before, or that are shipped",
    more="What lies in a folder\nwhen it is seen first is only listed, as found; what is "
    "shipped, as shipped.",
    examples=("skills review release",),
    arguments=(Argument("skills", nargs="+", metavar="NAME", help=_NAMED),),
).asks
async def review(context: Context, engine: AnyEngine) -> Answer:
    """Put skills up for review that were here before, or that are shipped."""
    paths = [await _path_of(engine, named) for named in context.args.skills]
    offered = [(path, await engine.skills.offer(path)) for path in paths]
    none = "nothing to decide: it is in memory as it is, decided, or shadowed"
    return Answer(
        {"skills": [{"path": path, "item": item_id or None} for path, item_id in offered]},
        [
            Parts([(short_path(skill_path),), (item_id or none, "bold" if item_id else "dim")])
            for skill_path, item_id in offered
        ],
        note=_NEXT if any(dict(offered).values()) else "",
    )


@Command(
    "restore",
    "write approved skills again whose files are gone",
    more="A store that was\nrestored in another place has its skills so. It asks at your "
    "terminal first; a file that is there is left alone.",
    examples=("skills restore", "skills restore push-new-branch"),
    arguments=(
        Argument(
            "skills",
            nargs="*",
            metavar="NAME",
            help="name or path of one that is gone (default: all)",
        ),
    ),
).owns
async def restore(context: Context, engine: "Engine") -> Answer:
    """Write the approved text of skills whose files are gone, once the person agrees.

    Returns 1 when one of them can't be written, else 0.
    """
    paths = await _gone(engine, context.args.skills)
    written, refused = await _written_again(context, engine, paths) if paths else ([], [])
    done = [f"Written: {short_path(each)}" for each in written]
    return Answer(
        {"written": written, "refused": refused},
        ["" if paths else "No skill's file is gone.", done, Warn(*refused)],
        code=1 if refused else 0,
    )


def _checked_view(checked: Sequence[_Checked]) -> View:
    found = [(finding, skill.path) for skill in checked for finding in skill.findings]
    counts = Counter(finding.severity.value for finding, _ in found)
    summary = [counted(len(checked), "skill")]
    summary += [counted(counts[name], name) for name in _SEVERITIES if counts[name]]
    return (
        [_finding_view(finding, f"{path}:{finding.line}: ") for finding, path in found],
        ", ".join(summary) + ("." if counts else ", nothing wrong."),
    )


def _finding_view(finding: "Finding", place: str) -> View:
    severity = finding.severity.value
    text = f"{finding.message[:1].upper()}{finding.message[1:]}. {finding.remedy}"
    return Parts([(place,), (f"{severity}: ", _SEVERITIES[severity]), (text,)], separator="")


def _skill_view(skill: "SkillDetail", effect: "LessonEffect | None", helps: str) -> View:
    row = skill.row
    facts = _facts(skill, effect, helps)
    return (
        Parts([(row.name, "bold"), (row.state.value, _STATES.get(row.state.value, "dim"))]),
        lambda console: Facts(
            [(label, cut(value, max(console.width - 14, 40))) for label, value in facts],
            label_width=12,
        ),
        [_finding_view(finding, f"line {finding.line}: ") for finding in row.findings],
        _text_view(skill) if skill.text else "",
    )


def _facts(
    skill: "SkillDetail", effect: "LessonEffect | None", helps: str
) -> list[tuple[str, str]]:
    """What is known of a skill as pairs of label and value."""
    row = skill.row
    given = f"{counted(row.applied, 'time')}, last {local_time(row.applied_at)}"
    return [
        ("file", short_path(row.path)),
        ("given", given if row.applied else ""),
        *(_effect_facts(effect) if effect else ()),
        ("helps", helps),
        ("gives way to", short_path(row.shadowed_by)),
        ("waiting", row.waiting),
        ("memories", ", ".join(skill.memory_ids)),
        ("changed", "a memory of it was edited without review" if row.reworded else ""),
        *(("taught by", f"{seen.lines}  {seen.note}".rstrip()) for seen in skill.evidence),
        *(
            (
                "text",
                f"{local_time(text.at)} {deed_of(text.event, text.actor).replace('_', ' ')}"
                f" by {actor_words(text.actor)}",
            )
            for text in skill.versions
        ),
    ]


def _text_view(skill: "SkillDetail") -> View:
    """The file, with the lines marked that something is wrong with."""
    styles = {each.line: (_SEVERITIES[each.severity.value],) for each in skill.row.findings}
    lines = enumerate(skill.text.rstrip("\n").split("\n"), 1)
    return BLANK, [
        Line(
            f"{number:>4} {'!' if number in styles else ' '} {line}".rstrip(),
            *styles.get(number, ()),
        )
        for number, line in lines
    ]


@Command(
    "retire",
    "take a skill out of use, its file and its memories",
    more="It asks at your terminal\nfirst; `proposals undo` brings the skill back.",
    examples=("skills retire push-new-branch",),
    arguments=(Argument("skill", metavar="NAME", help=_NAMED),),
).owns
async def retire(context: Context, engine: "Engine") -> Answer:
    """Take a skill out of use, file and memories, once the person agrees; returns 0."""
    from synthorg_tui.cli.terminal import controlling_terminal, require_open_to_decisions

    require_open_to_decisions(engine.settings.approvals)
    path = await _path_of(engine, context.args.skill)
    with controlling_terminal() as terminal:
        context.console.note(short_path(path))
        terminal.agree("Agents are no longer given it. Retire it?")
        decision = await engine.reviews.retire(path, terminal.person)
    return Answer(
        {"retired": path},
        f"Retired: {decision.title}",
        note="`synthorg-tui proposals undo` brings it back",
    )


GROUP: Final = Command(
    "skills",
    about="Skills are SKILL.md files: of projects, of yours, of approved lessons, and shipped.",
    commands=(
        list_skills,
        show_skill,
        validate,
        skills_eval.evaluate,
        sync,
        review,
        restore,
        retire,
    ),
)


async def _written_again(
    context: Context, engine: "Engine", paths: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Ask the person and write; returns what was written, and what is wrong with the others."""
    from synthorg_tui.cli.terminal import deciding_person

    written, refused = [], []
    with deciding_person(engine.settings.approvals) as terminal:
        context.console.note(*map(short_path, paths))
        terminal.agree(f"Write {counted(len(paths), 'file')}?")
        for skill_path in paths:
            try:
                await engine.reviews.restore_file(skill_path, terminal.person, only_if_gone=True)
                written.append(skill_path)
            except DomainError as error:
                refused.append(error.message)
    return written, refused


async def _gone(engine: AnyEngine, named: Sequence[str]) -> list[str]:
    """The paths of those skills, or of all, that are approved and have no file."""
    rows = (await engine.skills.overview()).rows
    gone = [row.path for row in rows if row.state is SkillState.GONE]
    paths = [await _path_of(engine, name) for name in named]
    if there := [there for there in paths if there not in gone]:
        raise UsageError(f"{there[0]} isn't gone", remedy="See `synthorg-tui skills show`.")
    return paths or gone


async def _path_of(engine: AnyEngine, named: str) -> str:
    """The path of the file that a name or a path stands for."""
    found = skills_eval.path_named((await engine.skills.overview()).rows, named)
    if not found:
        raise UsageError(f"no skill {named!r}", remedy="`synthorg-tui skills list` names them.")
    return found


def _read_all(paths: Sequence[Path]) -> list[_Checked]:
    files = [file for named in paths for file in _read(named.absolute())]
    return [_Checked(str(file.path), file.findings) for file in files]


def _read(named: Path) -> "Iterable[SkillFile]":
    """The skills that a path names: one, or those in a folder of skills."""
    from synthorg_tui.skills.disk import FILE_NAME
    from synthorg_tui.skills.document import RootScope, SkillRoot
    from synthorg_tui.skills.library import SkillLibrary, read_skill

    if not named.exists():
        raise UsageError(f"{named}: no such file or folder")
    folder = (named if named.is_dir() else named.parent).resolve()
    skill = read_skill(SkillRoot(folder.parent, RootScope.USER), folder.name)
    skills: tuple[SkillFile, ...] = () if skill is None else (skill,)
    if named.is_dir() and not skills:
        skills = SkillLibrary([SkillRoot(folder, RootScope.USER)]).scan()
    if not skills or (named.is_file() and named.name != skills[0].path.name):
        raise UsageError(f"{named} is no skill", remedy=f"A skill is a folder with a {FILE_NAME}.")
    return skills


def _effect_facts(effect: "LessonEffect") -> list[tuple[str, str]]:
    """How it was given, and whether its failure came again."""
    from synthorg_tui.curation.effects import NO_PROOF

    return [
        ("by way", effect.given_words),
        ("since", f"{effect.failure_words} ({NO_PROOF})"),
        ("by week", "  ".join(f"{name} {line}" for name, line in effect.lines_over_time)),
    ]


def _cells(row: "SkillOverviewRow") -> tuple[str, ...]:
    errors = [finding.message for finding in row.findings if finding.severity.value == "error"]
    return (
        row.state.value,
        row.name,
        row.scope.value if row.scope else "",
        str(row.applied or ""),
        row.description or "; ".join(errors),
    )
