"""The context of a command: its arguments, the console, the settings and the engine.

Commands open the engine only through here, so that each works while an app has the store open.
Printing belongs into ``output``; the meaning of what is printed, to each command.
"""

import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.output import Answer, Console, ProgressLine

if TYPE_CHECKING:
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.core.actors import CodingAgent
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.agent import AgentConnection
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.host.wire import EventSink
    from synthorg_tui.settings.root import RootConfig

_MAX_SKIPPED: Final = 20
_PATIENCE: Final = 30.0
"""Seconds to wait for an owner that has to be started, on a busy machine."""

AnyEngine: TypeAlias = "Engine | RemoteEngine"
"""An engine in this process, or that of the process which owns the data directory."""


class Context:
    """One run of a command, with its arguments and console; passed to the command's function."""

    def __init__(self, args: Namespace, console: Console) -> None:
        self.args = args
        self.console = console
        self._settings: RootConfig | None = None

    @property
    def actor(self) -> str:
        """Whom the history names for what the command changes."""
        from synthorg_tui.approvals.person import actor_of_command

        return str(actor_of_command())

    @property
    def agent(self) -> "CodingAgent | None":
        """The coding agent that runs the command; ``None`` for a person."""
        from synthorg_tui.core.actors import agent_in

        return agent_in(os.environ)

    @asynccontextmanager
    async def acting_as(self, agent: "CodingAgent") -> "AsyncIterator[AgentConnection]":
        """Yield the calls of the agent that runs the command, for an ``async with``.

        They are made in the process that owns the store, which is started if there is none: it
        counts the agent's writes.
        """
        from synthorg_tui.agents.models import AgentIdentity
        from synthorg_tui.host.agent import AgentConnection

        identity = AgentIdentity(agent.id, str(Path.cwd()), client=agent.name)
        data_dir = self.data_dir.absolute()
        connection = AgentConnection(
            data_dir, identity, config_path=self.args.config, patience=_PATIENCE
        )
        try:
            await connection.open()
            yield connection
        finally:
            await connection.close()

    @property
    def wants_json(self) -> bool:
        """Whether the result is to be printed as JSON, for a program."""
        return bool(self.args.json)

    @property
    def data_dir(self) -> Path:
        """The data directory: that of ``--data-dir``, else that of the settings."""
        return self.args.data_dir or Path(self.settings().memory.storage.data_dir)

    def settings(self) -> "RootConfig":
        """Return the settings in force, loaded at the first call; raises ``ConfigError``."""
        from synthorg_tui.settings.loader import load_settings

        if self._settings is None:
            self._settings = load_settings(self.args.config)
        return self._settings

    async def held_settings(self, engine: AnyEngine) -> "RootConfig":
        """Return the settings in force for a store: safety settings as strict as it holds them."""
        from synthorg_tui.settings.kept import with_kept
        from synthorg_tui.settings.safety import strictest, values_of, with_values

        kept = {each.path: each for each in await engine.kept.kept()}
        settings = with_kept(self.settings(), kept).settings
        agreed = await engine.safety.agreed()
        return with_values(settings, strictest(values_of(settings), agreed))

    def engine(
        self,
        *,
        on_event: "EventSink | None" = None,
        on_yield: "Callable[[], None] | None" = None,
        is_long: bool = False,
    ) -> AbstractAsyncContextManager[AnyEngine]:
        """Return the engine for an ``async with``; works also while the app has the store open.

        It is then the engine of the process that owns the store, reached over its socket;
        ``on_event`` gets the events that this one passes on. One that is opened here answers other
        processes meanwhile; ``on_yield`` and ``is_long`` are as for ``served``.
        """
        from synthorg_tui.host.opening import engine_or_owner

        self._warn_of_low_space()
        return engine_or_owner(
            self.settings(),
            data_dir=self.data_dir,
            role="command",
            on_event=on_event,
            on_yield=on_yield,
            is_long=is_long,
        )

    @asynccontextmanager
    async def own_engine(
        self, *, on_yield: "Callable[[], None] | None" = None, is_long: bool = False
    ) -> "AsyncIterator[Engine]":
        """Yield an engine of this process, which answers others as ``served`` says.

        An owner without a screen is asked to leave. Raises ``StoreLockedError`` while an app has
        the store open, or a command that doesn't end soon.
        """
        from synthorg_tui.host.opening import engine_for_app, served

        self._warn_of_low_space()
        async with (
            engine_for_app(self.settings(), data_dir=self.data_dir) as engine,
            served(engine, on_yield=on_yield, is_long=is_long),
        ):
            yield engine

    @asynccontextmanager
    async def deciding(self) -> "AsyncIterator[tuple[Engine, Terminal]]":
        """The store in this process, and the person at the terminal, as for approving proposals.

        No owner of the store decides for another process: one without a screen is asked to leave.
        Raises ``DecisionRefusedError`` where the settings or the environment let nobody decide.
        """
        from synthorg_tui.cli.terminal import controlling_terminal, require_open_to_decisions

        with controlling_terminal() as terminal:
            async with self.own_engine() as engine:
                require_open_to_decisions(engine.settings.approvals)
                yield engine, terminal

    def working(self) -> AbstractContextManager["Cancellation"]:
        """Show a job's progress and stop it at Ctrl-C, as ``cancelled_by_signal`` says."""
        return cancelled_by_signal(self.console)

    def _warn_of_low_space(self) -> None:
        from synthorg_tui.core.disk_space import low_space

        self.console.warning(low_space(self.data_dir))

    def print(self, answer: Answer) -> int:
        """Print an answer as JSON if wanted, else for a person; return its exit code."""
        return self.console.answer(answer, as_json=self.wants_json)

    def note_redacted(self, given: str | None, stored: str) -> None:
        """Say how many secrets were replaced in a text that was given, if one was."""
        from synthorg_tui.core.redaction import replaced_in

        self.console.note(replaced_in(given, stored) if given else "")

    def warn_skipped(self, skipped: Sequence[tuple[str, str]]) -> None:
        """Name what an import left out, each with the reason, up to twenty of them."""
        self.console.warning(*(f"skipped {name}: {why}" for name, why in skipped[:_MAX_SKIPPED]))
        if len(skipped) > _MAX_SKIPPED:
            self.console.note(f"and {len(skipped) - _MAX_SKIPPED} more")

    def confirm(self, question: str, *, word: str = "") -> None:
        """Ask the person to confirm; with ``word``, that word must be typed in full.

        Returns when the person agrees, and at once with ``--yes``. Raises ``DeclinedError`` when
        the person doesn't agree, and ``UsageError`` when there is no terminal to ask at.
        """
        if self.args.yes:
            return
        if not _is_interactive():
            raise UsageError("nobody is here to confirm", remedy="Add --yes to go ahead.")
        answer = self.console.ask(f"{question} " + (f"Type {word}:" if word else "[y/N]"))
        if answer != word if word else answer.lower() not in ("y", "yes"):
            raise DeclinedError("nothing was changed")


class Cancellation:
    """Ctrl-C as a request that the running job stop at its next safe point.

    ``show`` shows how far the job is, on one line that is cleared at its end.
    """

    def __init__(self, line: ProgressLine) -> None:
        import asyncio

        self.requested = threading.Event()
        self.stop = asyncio.Event()
        self.show = line.update

    def request(self) -> None:
        """Set both events, which ask the running job to stop."""
        self.requested.set()
        self.stop.set()


@contextmanager
def cancelled_by_signal(console: Console) -> Iterator[Cancellation]:
    """Inside the ``with``, make the first Ctrl-C or SIGTERM a request to stop.

    The second one raises ``KeyboardInterrupt`` at once. Needs a running event loop.
    """
    import asyncio

    loop, line = asyncio.get_running_loop(), ProgressLine(console)
    cancellation = Cancellation(line)
    task = asyncio.current_task()

    def on_signal() -> None:
        if cancellation.requested.is_set() and task is not None:
            task.cancel()
        else:
            console.note("\nstopping; what is done is kept (Ctrl-C again to stop at once)")
            cancellation.request()

    handled = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.getsignal(number) for number in handled}
    for number in handled:
        loop.add_signal_handler(number, on_signal)
    try:
        with line:
            yield cancellation
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
            signal.signal(number, previous[number])


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
