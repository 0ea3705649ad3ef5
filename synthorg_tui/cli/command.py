"""A command as data: what it is called, its arguments and help, and the function that answers it.

A command module declares each command on the function that answers it:

    @Command("calls", "list what agents called", arguments=(Argument("--agent"),)).asks
    async def list_calls(context: Context, engine: AnyEngine) -> Answer: ...

Parser, help and the handling of results come from the declaration. The function doesn't print its
result but returns it: it is printed as JSON or text once the engine is closed.
"""

import argparse
import textwrap
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from synthorg_tui.cli.arguments import COMMON, Argument, ArgumentGroup, Subparsers
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer

if TYPE_CHECKING:
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.engine import Engine

Run: TypeAlias = Callable[[Context], Awaitable[Answer | int]]
"""A command's function; an ``int`` is the exit code of one that has printed what there is."""


@dataclass(frozen=True, slots=True)
class Command:
    """The declaration of a command, or of a group of commands that has no function of its own.

    In the command's help ``more`` follows the summary, and ``about`` replaces both. ``preset`` has
    the values of arguments that only other commands with the same function have. The summary of a
    top-level command is in ``commands.COMMANDS``. ``is_long`` says that the work takes long, so
    that what agents call is loaded before it begins. One of the methods below sets ``run``.
    """

    name: str
    summary: str = ""
    more: str = ""
    examples: Sequence[str] = ()
    arguments: Sequence[Argument | ArgumentGroup] = ()
    commands: "Sequence[Command]" = ()
    about: str = ""
    preset: Mapping[str, object] = field(default_factory=dict)
    is_long: bool = False
    run: Run | None = None

    def runs(self, answer: Run) -> "Command":
        """Declare the function that answers the command."""
        return replace(self, run=answer)

    def asks(self, answer: "Callable[[Context, AnyEngine], Awaitable[Answer | int]]") -> "Command":
        """Declare the function that answers from the engine, here or in the store's owner."""

        async def run(context: Context) -> Answer | int:
            async with context.engine(is_long=self.is_long) as engine:
                return await answer(context, engine)

        return replace(self, run=run)

    def owns(self, answer: "Callable[[Context, Engine], Awaitable[Answer | int]]") -> "Command":
        """Declare the function that answers from an engine of this process."""

        async def run(context: Context) -> Answer | int:
            async with context.own_engine(is_long=self.is_long) as engine:
                return await answer(context, engine)

        return replace(self, run=run)

    def decides(
        self, answer: "Callable[[Context, Engine, Terminal], Awaitable[Answer | int]]"
    ) -> "Command":
        """Declare the function that has the person at the terminal decide."""

        async def run(context: Context) -> Answer | int:
            async with context.deciding() as (engine, terminal):
                return await answer(context, engine, terminal)

        return replace(self, run=run)

    def add_to(self, commands: Subparsers, summary: str = "") -> None:
        """Add the parser to ``commands``; ``summary`` is for a command that has none itself."""
        summary = self.summary or summary
        sentence = f"{summary[0].upper()}{summary[1:]}.{' ' if self.more else ''}{self.more}"
        parser = commands.add_parser(
            self.name,
            help=summary,
            description=self.about or _wrapped(sentence),
            epilog=_epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if self.run is not None:
            COMMON.add_to(parser)
            parser.set_defaults(
                handler=self.run, command=parser.prog.partition(" ")[2], **self.preset
            )
        for argument in self.arguments:
            argument.add_to(parser)
        if self.commands:
            actions = parser.add_subparsers(
                title="commands", metavar="COMMAND", required=self.run is None
            )
            for command in self.commands:
                command.add_to(actions)


def _wrapped(text: str) -> str:
    """The text in lines of at most 80 characters, where its author set no line breaks."""
    return text if "\n" in text else textwrap.fill(text, 80)


def _epilog(examples: Sequence[str]) -> str | None:
    lines = "".join(f"  synthorg-tui {example}\n" for example in examples)
    return f"examples:\n{lines}" if lines else None
