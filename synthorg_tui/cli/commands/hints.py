"""``hints``: what agents are told nothing about at their calls, and the person's choice of it.

Both silencing and allowing again are a person's acts, refused inside an agent's own environment: a
lesson may say what the person doesn't want an agent to do.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, local_time
from synthorg_tui.cli.records import fields, listing
from synthorg_tui.core.paths import expand_home

if TYPE_CHECKING:
    from synthorg_tui.agents.silenced import Silence
    from synthorg_tui.engine import Engine

_FIELDS: Final = "kind subject at actor"
KINDS: Final = ("command", "lesson", "project")
_PERSON_ONLY: Final = (
    "Only you can do that: it is refused where an agent runs it.\n"
    "While the app is open, do it there."
)
_SUBJECT: Final = (
    Argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS)),
    Argument(
        "subject",
        metavar="WHAT",
        help="a program with its subcommand, a lesson's name, or a folder",
    ),
)


async def _change(context: Context, engine: "Engine", *, silence: bool) -> Answer:
    """Give agents no more hints about a subject, or allow them again."""
    from synthorg_tui.agents.silenced import SilencedKind
    from synthorg_tui.cli.terminal import require_open_to_decisions

    kind = SilencedKind(context.args.kind)
    require_open_to_decisions((await context.held_settings(engine)).approvals)
    subject = await _subject(engine, kind.value, context.args.subject)
    if silence:
        done = await engine.gateway.silence(kind, subject, actor=context.actor)
    else:
        done = await engine.gateway.unsilence(kind, subject)
    words = "No more hints" if silence else "Hints again"
    return Answer(fields(done, _FIELDS), f"{words} about the {kind} {done.subject}.")


@Command(
    "hints",
    more="Without a command\nwhat is silenced is listed.",
    examples=("hints", "hints silence command 'git push'", "hints unsilence project ~/shop"),
    commands=(
        Command(
            "silence",
            "give agents no more hints about a command, a lesson or a project",
            more=f"The lesson stays approved, in digests and as a skill.\n{_PERSON_ONLY}",
            examples=(
                "hints silence command 'git push'",
                "hints silence lesson git-push-no-upstream",
            ),
            arguments=_SUBJECT,
        ).owns(partial(_change, silence=True)),
        Command(
            "unsilence",
            "allow hints about it again",
            more=_PERSON_ONLY,
            examples=("hints unsilence command 'git push'",),
            arguments=_SUBJECT,
        ).owns(partial(_change, silence=False)),
    ),
).asks
async def list_silenced(context: Context, engine: AnyEngine) -> Answer:
    """List what is silenced, the latest first."""
    silenced: Sequence[Silence] = await engine.gateway.silenced()
    return listing(
        "silenced",
        silenced,
        _FIELDS,
        {
            "KIND": lambda each: each.kind.value,
            "WHAT": lambda each: each.subject,
            "SINCE": lambda each: local_time(each.at),
            "BY": lambda each: each.actor,
        },
        empty="Nothing is silenced.",
    )


async def _subject(engine: "AnyEngine | Engine", kind: str, given: str) -> str:
    """The subject as it is stored: of a lesson its path, of a project its whole folder."""
    if kind == "project":
        return str(expand_home(given).absolute())
    if kind != "lesson":
        return given
    rows = (await engine.skills.overview()).rows
    named = [row.path for row in rows if row.version and given in (row.name, row.path)]
    return named[0] if named else given
