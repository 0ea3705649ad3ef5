"""``hints``: what agents are told nothing about at their calls, and the person's choice of it.

Both silencing and allowing again are a person's acts, refused inside an agent's own environment: a
lesson may say what the person doesn't want an agent to do.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.output import local_time
from synthorg_tui.cli.shapes import Json

if TYPE_CHECKING:
    from synthorg_tui.agents.silenced import Silence
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.engine import Engine

KINDS: Final = ("command", "lesson", "project")
_PERSON_ONLY: Final = (
    "Only you can do that: it is refused where an agent runs it.\n"
    "While the app is open, do it there."
)


def add(commands: Subparsers) -> None:
    """Add the parser of ``hints`` to ``commands``; without a subcommand it lists what is silent."""
    parser = add_command(
        commands,
        "hints",
        run_silenced,
        COMMANDS["hints"].summary,
        more="Without a command\nwhat is silenced is listed.",
        examples=("hints", "hints silence command 'git push'", "hints unsilence project ~/shop"),
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    silencing = add_command(
        actions,
        "silence",
        partial(run_change, silence=True),
        "give agents no more hints about a command, a lesson or a project",
        more=f"The lesson stays approved, in digests and as a skill.\n{_PERSON_ONLY}",
        examples=("hints silence command 'git push'", "hints silence lesson git-push-no-upstream"),
    )
    allowing = add_command(
        actions,
        "unsilence",
        partial(run_change, silence=False),
        "allow hints about it again",
        more=_PERSON_ONLY,
        examples=("hints unsilence command 'git push'",),
    )
    for each in (silencing, allowing):
        each.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
        each.add_argument(
            "subject",
            metavar="WHAT",
            help="a program with its subcommand, a lesson's name, or a folder",
        )


async def run_silenced(context: "Context") -> int:
    """List what is silenced, the latest first."""
    async with context.engine() as engine:
        silenced = await engine.gateway.silenced()
    if context.wants_json:
        context.console.json({"silenced": [_silence(each) for each in silenced]})
        return 0
    if not silenced:
        context.console.line("Nothing is silenced.")
        return 0
    rows = [(each.kind.value, each.subject, local_time(each.at), each.actor) for each in silenced]
    context.console.table(("KIND", "WHAT", "SINCE", "BY"), rows)
    return 0


async def run_change(context: "Context", *, silence: bool) -> int:
    """Give agents no more hints about a subject, or allow them again."""
    from synthorg_tui.agents.silenced import SilencedKind
    from synthorg_tui.cli.terminal import require_open_to_decisions

    kind = SilencedKind(context.args.kind)
    async with context.own_engine() as engine:
        require_open_to_decisions((await context.held_settings(engine)).approvals)
        subject = await _subject(engine, kind.value, context.args.subject)
        if silence:
            done = await engine.gateway.silence(kind, subject, actor=context.actor)
        else:
            done = await engine.gateway.unsilence(kind, subject)
    words = "No more hints" if silence else "Hints again"
    return context.print_result(_silence(done), f"{words} about the {kind} {done.subject}.")


async def _subject(engine: "AnyEngine | Engine", kind: str, given: str) -> str:
    """The subject as it is stored: of a lesson its path, of a project its whole folder."""
    if kind == "project":
        return _folder(given)
    if kind != "lesson":
        return given
    rows = (await engine.skills.overview()).rows
    named = [row.path for row in rows if row.version and given in (row.name, row.path)]
    return named[0] if named else given


def _folder(given: str) -> str:
    """The whole path of a folder; as it is written, since it may be gone."""
    from pathlib import Path

    return str(Path(given).expanduser().absolute())


def _silence(silence: "Silence") -> Json:
    return {
        "kind": silence.kind.value,
        "subject": silence.subject,
        "at": silence.at.isoformat(),
        "actor": silence.actor,
    }
