"""``org``: what every agent is to know and to follow; a person writes, retracts and takes back.

A policy is in every prompt of every agent from then on, so writing one is a decision like approving
a proposal: it is taken by a person at the terminal, in this process, and no owner of the store does
it for others. Reading is in ``org_reading``.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import ID, PROJECT, Argument, edited_text, given_text, tags
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import org_reading
from synthorg_tui.cli.commands.org_check import check
from synthorg_tui.cli.commands.org_import import import_files
from synthorg_tui.cli.commands.org_publish import publish
from synthorg_tui.cli.commands.org_reading import KINDS, entry_shape
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import Answer, cut
from synthorg_tui.core.enums import OrgFactCategory

if TYPE_CHECKING:
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.engine import Engine
    from synthorg_tui.organisation.models import OrgEntry

_ASKS: Final = "It asks at the terminal: only a person decides what every agent is told."
_SHOWN: Final = 60


@Command(
    "add",
    "write a policy, decision, procedure or convention",
    more=_ASKS,
    examples=(
        'org add "Never push to main." --category core_policy',
        "org add - --category adr --project . < docs/adr/0007.md",
    ),
    arguments=(
        Argument("content", metavar="TEXT", help="the text, or - to read it from stdin"),
        Argument("--category", choices=KINDS, required=True, metavar="NAME", help=", ".join(KINDS)),
        Argument(
            "--project", metavar="NAME", help=f"only for this one: {PROJECT} (default: for all)"
        ),
        Argument(
            "--tags", metavar="A,B", type=tags, default=(), help="separated by commas or blanks"
        ),
    ),
).runs
async def add_fact(context: Context) -> Answer:
    """Write a new fact."""
    from synthorg_tui.memory.org.models import OrgFactWriteRequest
    from synthorg_tui.memory.org.tags import OrgTraits

    args = context.args
    content = given_text(args.content)
    category = OrgFactCategory(args.category)
    async with context.deciding() as (engine, terminal):
        project = await project_named(engine, args.project, is_new=True) if args.project else ""
        request = OrgFactWriteRequest(
            content=content,
            category=category,
            tags=OrgTraits(project=project, others=args.tags).tags,
        )
        for entry in await engine.organisation.entries(categories=(category,)):
            if (entry.content, entry.traits.project) == (content, project):
                raise UsageError(
                    "this is written already", remedy=f"See `synthorg-tui org show {entry.id}`."
                )
        terminal.agree(f"{_told(category, project)}: {_quoted(content)}?")
        added = await engine.organisation.add(request, actor=str(terminal.person))
    context.note_redacted(content, added.content)
    return Answer(entry_shape(added), f"Added {added.id}")


def _told(category: OrgFactCategory, project: str) -> str:
    where = f"in {Path(project).name}" if project else "in every project"
    if category is OrgFactCategory.CORE_POLICY:
        return f"Tell every agent {where}, in each prompt"
    return f"Let every agent {where} find this {category.value.replace('_', ' ')}"


@Command(
    "edit",
    "write a new version",
    more=f"Without options the text opens in $EDITOR. {_ASKS}",
    examples=("org edit 3f2a", 'org edit 3f2a --content "Push with a pull request."'),
    arguments=(
        ID,
        Argument("--content", metavar="TEXT", help="new text, or - to read it from stdin"),
        Argument("--category", choices=KINDS, metavar="NAME", help=f"one of {', '.join(KINDS)}"),
        Argument("--tags", metavar="A,B", type=tags, help="new tags, by commas or blanks"),
    ),
).runs
async def edit_fact(context: Context) -> Answer:
    """Write a new version by the given options or, without any, in ``$EDITOR``."""
    import asyncio

    args = context.args
    content = given_text(args.content) if args.content is not None else None
    async with context.deciding() as (engine, terminal):
        entry = await engine.organisation.entry(args.id)
        if content is None and args.category is None and args.tags is None:
            content = await asyncio.to_thread(edited_text, entry.content, "fact.md")
            if content is None:
                return Answer(entry_shape(entry), "Nothing was changed.")
        question = f"Change {_short(entry)}?"
        if content:
            question = f"Have {_short(entry)} say: {_quoted(content)}?"
        terminal.agree(question)
        edited = await engine.organisation.edit(
            entry.id,
            content=content,
            category=OrgFactCategory(args.category) if args.category else None,
            tags=None if args.tags is None else replace(entry.traits, others=args.tags).tags,
            actor=str(terminal.person),
        )
    context.note_redacted(content, edited.content)
    return Answer(
        entry_shape(edited),
        f"Version {edited.version} of {edited.id}. Undo with: synthorg-tui org undo",
    )


@Command(
    "retract",
    "take one out of use",
    more=f"Its history stays. {_ASKS}",
    examples=("org retract 3f2a",),
    arguments=(ID,),
).decides
async def retract(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Take a fact out of use."""
    entry = await engine.organisation.entry(context.args.id)
    terminal.agree(f"Retract {_short(entry)}, {_quoted(entry.content)}?")
    gone = await engine.organisation.retract(entry.id, actor=str(terminal.person))
    return Answer(
        entry_shape(gone),
        f"Retracted {gone.id}. Bring it back with: synthorg-tui org revive {gone.id[:8]}",
    )


@Command(
    "revive",
    "bring a retracted one back with its last text",
    more=_ASKS,
    examples=("org revive 3f2a",),
    arguments=(ID,),
).decides
async def revive(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Bring a retracted fact back."""
    entry = await engine.organisation.entry(context.args.id)
    terminal.agree(f"Bring {_short(entry)} back, {_quoted(entry.content)}?")
    back = await engine.organisation.revive(entry.id, actor=str(terminal.person))
    return Answer(entry_shape(back), f"Brought back {back.id}")


@Command(
    "undo",
    "take back what a person last wrote, edited, retracted, revived or imported",
    more="Again, it takes back the one before. What was approved is taken back with"
    " `proposals undo`. It asks at the terminal.",
).decides
async def undo(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Take back the last act of a person on facts."""
    terminal.agree("Take back what was last done to facts?")
    told, entry = await engine.organisation.undo(actor=str(terminal.person))
    return Answer({"undone": told, **entry_shape(entry)}, told)


GROUP: Final = Command(
    "org",
    about="See and write what every agent is to know and to follow: policies, which are in "
    "every\nprompt, and decisions (ADRs), procedures and conventions, which agents find when "
    "they\nask. An ID may be shortened to its first characters.",
    examples=(
        "org list",
        'org add "Never push to main." --category core_policy',
        "org edit 3f2a",
        "org history 3f2a",
    ),
    commands=(
        *org_reading.DECLARED,
        add_fact,
        edit_fact,
        retract,
        revive,
        undo,
        import_files,
        publish,
        check,
    ),
)


def _short(entry: "OrgEntry") -> str:
    """Name a fact in a question."""
    return f"{entry.category.value.replace('_', ' ')} {entry.id[:8]}"


def _quoted(content: str) -> str:
    return f"“{cut(' '.join(content.split()), _SHOWN)}”"
