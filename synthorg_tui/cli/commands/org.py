"""``org``: what every agent is to know and to follow; a person writes, retracts and takes back.

A policy is in every prompt of every agent from then on, so writing one is a decision like approving
a proposal: it is taken by a person at the terminal, in this process, and no owner of the store does
it for others. Reading is in ``org_reading``.
"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, path, tags
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.org_check import add_check
from synthorg_tui.cli.commands.org_import import add_import
from synthorg_tui.cli.commands.org_publish import add_publish
from synthorg_tui.cli.commands.org_reading import KINDS, add_reading, entry_shape
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import cut
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.redaction import replaced_in

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.organisation.models import OrgEntry

_ASKS = "It asks at the terminal: only a person decides what every agent is told."
_SHOWN = 60


def add(commands: Subparsers) -> None:
    """Add the parsers of ``org`` to ``commands``."""
    actions = add_group(
        commands,
        "org",
        COMMANDS["org"].summary,
        "See and write what every agent is to know and to follow: policies, which are in every\n"
        "prompt, and decisions (ADRs), procedures and conventions, which agents find when they\n"
        "ask. An ID may be shortened to its first characters.",
        examples=(
            "org list",
            'org add "Never push to main." --category core_policy',
            "org edit 3f2a",
            "org history 3f2a",
        ),
    )
    add_reading(actions)
    _add_writing(actions)
    _add_acts(actions)
    add_import(actions)
    add_publish(actions)
    add_check(actions)


def _add_writing(actions: Subparsers) -> None:
    adding = add_command(
        actions,
        "add",
        run_add,
        "write a policy, decision, procedure or convention",
        more=_ASKS,
        examples=(
            'org add "Never push to main." --category core_policy',
            "org add - --category adr --project . < docs/adr/0007.md",
        ),
    )
    adding.add_argument("content", metavar="TEXT", help="the text, or - to read it from stdin")
    adding.add_argument(
        "--category", choices=KINDS, required=True, metavar="NAME", help=", ".join(KINDS)
    )
    adding.add_argument(
        "--project", type=path, metavar="DIR", help="only for this project (default: for all)"
    )
    adding.add_argument(
        "--tags", metavar="A,B", type=tags, default=(), help="separated by commas or blanks"
    )
    editing = add_command(
        actions,
        "edit",
        run_edit,
        "write a new version",
        more=f"Without options the text opens in $EDITOR. {_ASKS}",
        examples=("org edit 3f2a", 'org edit 3f2a --content "Push with a pull request."'),
    )
    editing.add_argument("id", metavar="ID")
    editing.add_argument("--content", metavar="TEXT", help="new text, or - to read it from stdin")
    editing.add_argument(
        "--category", choices=KINDS, metavar="NAME", help=f"one of {', '.join(KINDS)}"
    )
    editing.add_argument("--tags", metavar="A,B", type=tags, help="new tags, by commas or blanks")


def _add_acts(actions: Subparsers) -> None:
    for name, run, summary, more in (
        ("retract", run_retract, "take one out of use", "Its history stays. "),
        ("revive", run_revive, "bring a retracted one back with its last text", ""),
    ):
        parser = add_command(
            actions, name, run, summary, more=f"{more}{_ASKS}", examples=(f"org {name} 3f2a",)
        )
        parser.add_argument("id", metavar="ID")
    add_command(
        actions,
        "undo",
        run_undo,
        "take back what a person last wrote, edited, retracted, revived or imported",
        more="Again, it takes back the one before. What was approved is taken back with"
        " `proposals undo`. It asks at the terminal.",
    )


async def run_add(context: "Context") -> int:
    """Write a new fact."""
    from synthorg_tui.memory.org.models import OrgFactWriteRequest
    from synthorg_tui.memory.org.tags import OrgTraits

    args = context.args
    content = _given(args.content)
    category = OrgFactCategory(args.category)
    project = str(args.project.absolute().resolve()) if args.project else ""
    request = OrgFactWriteRequest(
        content=content,
        category=category,
        tags=OrgTraits(project=project, others=args.tags).tags,
    )
    async with context.deciding() as (engine, terminal):
        for entry in await engine.organisation.entries(categories=(category,)):
            if (entry.content, entry.traits.project) == (content, project):
                raise UsageError(
                    "this is written already", remedy=f"See `synthorg-tui org show {entry.id}`."
                )
        terminal.agree(f"{_told(category, project)}: {_quoted(content)}?")
        added = await engine.organisation.add(request, actor=str(terminal.person))
    _tell_redacted(context, content, added)
    return context.print_result(entry_shape(added), f"Added {added.id}")


def _told(category: OrgFactCategory, project: str) -> str:
    where = f"in {Path(project).name}" if project else "in every project"
    if category is OrgFactCategory.CORE_POLICY:
        return f"Tell every agent {where}, in each prompt"
    return f"Let every agent {where} find this {category.value.replace('_', ' ')}"


async def run_edit(context: "Context") -> int:
    """Write a new version by the given options or, without any, in ``$EDITOR``."""
    import asyncio

    args = context.args
    content = _given(args.content) if args.content is not None else None
    async with context.deciding() as (engine, terminal):
        entry = await engine.organisation.entry(args.id)
        if content is None and args.category is None and args.tags is None:
            content = await asyncio.to_thread(_edited, entry.content)
            if content is None:
                return context.print_result(entry_shape(entry), "Nothing was changed.")
        what = f"{short_of(entry)} say: {_quoted(content)}" if content else short_of(entry)
        terminal.agree(f"Have {what}?" if content else f"Change {what}?")
        edited = await engine.organisation.edit(
            entry.id,
            content=content,
            category=OrgFactCategory(args.category) if args.category else None,
            tags=_new_tags(entry, args.tags),
            actor=str(terminal.person),
        )
    _tell_redacted(context, content, edited)
    done = f"Version {edited.version} of {edited.id}. Undo with: synthorg-tui org undo"
    return context.print_result(entry_shape(edited), done)


def _new_tags(entry: "OrgEntry", others: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The tags with other words; what they say of project, source and status stays."""
    from dataclasses import replace

    return None if others is None else replace(entry.traits, others=others).tags


async def run_retract(context: "Context") -> int:
    """Take a fact out of use."""
    async with context.deciding() as (engine, terminal):
        entry = await engine.organisation.entry(context.args.id)
        terminal.agree(f"Retract {short_of(entry)}, {_quoted(entry.content)}?")
        gone = await engine.organisation.retract(entry.id, actor=str(terminal.person))
    done = f"Retracted {gone.id}. Bring it back with: synthorg-tui org revive {gone.id[:8]}"
    return context.print_result(entry_shape(gone), done)


async def run_revive(context: "Context") -> int:
    """Bring a retracted fact back."""
    async with context.deciding() as (engine, terminal):
        entry = await engine.organisation.entry(context.args.id)
        terminal.agree(f"Bring {short_of(entry)} back, {_quoted(entry.content)}?")
        back = await engine.organisation.revive(entry.id, actor=str(terminal.person))
    return context.print_result(entry_shape(back), f"Brought back {back.id}")


async def run_undo(context: "Context") -> int:
    """Take back the last act of a person on facts."""
    async with context.deciding() as (engine, terminal):
        terminal.agree("Take back what was last done to facts?")
        undone = await engine.organisation.undo(actor=str(terminal.person))
    return context.print_result({"undone": undone.told, **entry_shape(undone)}, undone.told)


def short_of(entry: "OrgEntry") -> str:
    """Name a fact in a question."""
    return f"{entry.category.value.replace('_', ' ')} {entry.id[:8]}"


def _quoted(content: str) -> str:
    return f"“{cut(' '.join(content.split()), _SHOWN)}”"


def _tell_redacted(context: "Context", given: str | None, stored: "OrgEntry") -> None:
    told = replaced_in(given, stored.content) if given else ""
    if told:
        context.console.note(told)


def _given(text: str) -> str:
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise UsageError("the text is empty")
    return content.strip("\n")


def _edited(content: str) -> str | None:
    """The text as the person left it in the editor; ``None`` when it is unchanged."""
    from synthorg_tui.core.editor import run_editor

    with tempfile.TemporaryDirectory(prefix="synthorg-") as folder:
        file = Path(folder) / "fact.md"
        file.write_text(content, encoding="utf-8")
        run_editor(file)
        edited = file.read_text(encoding="utf-8")
    return None if edited.rstrip("\n") == content.rstrip("\n") else _given(edited)
