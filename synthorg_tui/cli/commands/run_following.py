"""Following a run until it rests, whoever owns the store; deciding what waits at the terminal.

A run goes on in the process that owns the store: the open app, an owner without a screen, or this
command, which then answers others meanwhile. When the app takes the store over, the run breaks off
behind a complete step, and is resumed and followed there.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.cli.commands import run_view as view
from synthorg_tui.cli.context import AnyEngine, Cancellation, Context, cancelled_by_signal
from synthorg_tui.cli.output import Answer, Block, Note
from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.client import connect
from synthorg_tui.host.errors import NoOwnerError, OwnerGoneError
from synthorg_tui.host.owner import RUN
from synthorg_tui.host.runs import RunCalls
from synthorg_tui.runtime.models import AgentRun, RunStatus, StepKind

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine

EXIT_CODES: Final = {
    TerminationReason.COMPLETED: 0,
    TerminationReason.ERROR: 1,
    TerminationReason.MAX_TURNS: 5,
    TerminationReason.BUDGET_EXHAUSTED: 6,
    TerminationReason.PARKED: 7,
    TerminationReason.SHUTDOWN: 130,
}
"""Exit codes of commands that follow a run, by the reason for which it ended."""
_WAITS: Final = 7
_BROKEN_OFF: Final = 130
_LOOK_EVERY: Final = 1.0
"""Seconds until it is looked at a run again of which nothing was heard."""
_MAX_HANDOVERS: Final = 5
_TAKEN_OVER_WITHIN: Final = 15.0
"""Seconds that an app has to open the store which this command left to it."""
_RETRY: Final = 0.1

Begin = Callable[[RunCalls], Awaitable[AgentRun]]


@dataclass(slots=True, eq=False)
class RunPlace:
    """The process in which runs go on, as this command reaches it.

    ``engine`` is set where that is this process. ``heard`` is set when any run changed, ``asked``
    when an app wants the store.
    """

    calls: RunCalls
    engine: "Engine | None" = None
    is_app: bool = False
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, topic: str, _data: Any) -> None:
        """Note that a run changed."""
        if topic == RUN:
            self.heard.set()


@asynccontextmanager
async def run_place(
    context: Context, *, agreed: bool = False, own: bool = False
) -> AsyncIterator[RunPlace]:
    """Reach the owner of the store, or own it here and answer others meanwhile.

    ``agreed`` says that the person at the terminal agreed to a run that asks for nothing. With
    ``own`` an owner without a screen is asked to leave; an app raises ``StoreLockedError``.
    """
    from synthorg_tui.engine import Engine

    heard: list[RunPlace] = []
    asked = asyncio.Event()

    def on_event(topic: str, data: Any) -> None:
        for place in heard:
            place.hear(topic, data)

    async with AsyncExitStack() as stack:
        opening = (
            context.own_engine(on_yield=asked.set)
            if own
            else context.engine(on_event=on_event, on_yield=asked.set)
        )
        engine: AnyEngine = await stack.enter_async_context(opening)
        if not isinstance(engine, Engine):
            place = RunPlace(engine.runs, is_app=engine.owner.kind == "app")
            heard.append(place)
            yield place
            return
        place = RunPlace(RunCalls(engine.runs, agreed=agreed), engine, asked=asked)
        stack.callback(engine.events.subscribe(place.hear))
        keeping = asyncio.create_task(engine.runs.keep())
        stack.push_async_callback(_ended, keeping)
        yield place


def calls_of(engine: AnyEngine) -> RunCalls:
    """Return the runs of an engine, here or in the process that owns the store."""
    from synthorg_tui.engine import Engine

    return RunCalls(engine.runs) if isinstance(engine, Engine) else engine.runs


async def _taken_over(context: Context) -> None:
    """Return once the app that asked for the store has it, or doesn't come for it."""
    deadline = time.monotonic() + _TAKEN_OVER_WITHIN
    while time.monotonic() < deadline:
        try:
            connection = await connect(context.data_dir, role="command")
        except (NoOwnerError, OwnerGoneError):
            await asyncio.sleep(_RETRY)
        else:
            await connection.close()
            return


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class RunFollower:
    """Follows one run to where it rests, printing each step, and ends it at Ctrl-C."""

    def __init__(self, context: Context, *, agreed: bool = False, own: bool = False) -> None:
        self._context = context
        self._agreed = agreed
        self._own = own
        self._run_id = ""
        self._seen = 0
        self._answer = ""
        self._told_of = ""

    async def follow(self, begin: Begin) -> Answer:
        """Begin a run and follow it; return how it ended, with the exit code."""
        with cancelled_by_signal(self._context.console) as cancellation:
            for _ in range(_MAX_HANDOVERS):
                with suppress(OwnerGoneError):  # another process owns the store now
                    async with run_place(
                        self._context, agreed=self._agreed, own=self._own
                    ) as place:
                        self._own = False
                        await self._go_on(place, begin)
                        run = await self._until_rest(place, cancellation)
                    if run is not None:
                        return self._result(run)
                    await _taken_over(self._context)
        raise DomainError(
            f"the run {self._run_id} broke off too often",
            remedy=f"`synthorg-tui runs resume {self._run_id}` goes on with it.",
        )

    async def _go_on(self, place: RunPlace, begin: Begin) -> None:
        """Begin the run, or go on with it where it was handed over."""
        self._told_of = ""
        if not self._run_id:
            run = await begin(place.calls)
            self._run_id = run.id
            if not self._context.wants_json:
                who = f"{run.request.agent_id} by {run.request.executor}"
                self._context.console.note(f"Run {run.id} · {who}")
        elif (await place.calls.show(self._run_id)).status is RunStatus.INTERRUPTED:
            await place.calls.resume(self._run_id)

    async def _until_rest(self, place: RunPlace, cancellation: Cancellation) -> AgentRun | None:
        """Print steps until the run rests; ``None`` when an app wants the store."""
        is_cancelled = False
        while True:
            place.heard.clear()
            run = await place.calls.show(self._run_id)
            await self._print_new(place)
            if run.status is RunStatus.PARKED and not is_cancelled:
                rests = await self._parked(place, run)
            else:
                rests = run.status is not RunStatus.RUNNING
            if rests:  # and what is still being written of that is written
                return run if place.engine is None else await place.engine.runs.wait(run.id)
            if place.asked.is_set():
                return None
            if cancellation.requested.is_set() and not is_cancelled:
                is_cancelled = True
                await place.calls.cancel(self._run_id)
                continue
            await _any_of(place.heard, place.asked, *([] if is_cancelled else [cancellation.stop]))

    async def _print_new(self, place: RunPlace) -> None:
        while True:
            page = await place.calls.steps(self._run_id, after=self._seen)
            for step in page.steps:
                self._seen = step.number
                if step.kind is StepKind.ANSWER and step.text:
                    self._answer = step.text
                if not self._context.wants_json:
                    view.show_step(self._context.console, step)
            if not page.steps or self._seen >= page.last:
                return

    # What waits for a person

    async def _parked(self, place: RunPlace, run: AgentRun) -> bool:
        """Have a person decide if one sits here; whether the run rests, as nobody does."""
        if self._told_of == run.item_id:
            return False  # decided, or to be decided in the app: it goes on by itself
        self._told_of = run.item_id
        if not _person_is_here(self._context):
            return True
        if place.engine is None:
            console = self._context.console
            if not place.is_app:
                self._own = True
                raise OwnerGoneError("an owner without a screen makes room for a decision")
            console.note("It waits for you in the app: 4 lists it. Ctrl-C stops the run.")
            return False
        return not await _decided(self._context, place.engine, run.item_id)

    def _result(self, run: AgentRun) -> Answer:
        told = f": {run.told}" if run.told else ""
        waits = (
            f"It waits for you. `synthorg-tui proposals show {run.item_id}` shows for what, "
            f"`synthorg-tui proposals approve {run.item_id}` or the app's Approvals decide; it "
            f"goes on in the app, or with `synthorg-tui runs resume {run.id}`."
        )
        return Answer(
            view.run_shape(run) | {"answer": self._answer},
            [
                Note(f"{view.standing(run)}{told} · {view.used(run)}"),
                run.status is RunStatus.PARKED and Note(waits),
                run.reason is TerminationReason.COMPLETED and Block(self._answer),
            ],
            _code(run),
        )


def _code(run: AgentRun) -> int:
    if run.status is RunStatus.PARKED:
        return _WAITS
    if run.status is RunStatus.INTERRUPTED or run.reason is None:
        return _BROKEN_OFF
    return EXIT_CODES[run.reason]


async def _any_of(*events: asyncio.Event) -> None:
    """Return when one of the events is set, or after a while."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=_LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _person_is_here(context: Context) -> bool:
    """Whether somebody at the terminal may decide: no agent's command, no pipe, no JSON."""
    from synthorg_tui.approvals.models import ApprovalError
    from synthorg_tui.cli.terminal import deciding_person

    if context.wants_json or not context.console.err.isatty():
        return False
    try:
        with deciding_person(context.settings().approvals):
            return True
    except ApprovalError:
        return False


async def _decided(context: Context, engine: "Engine", item_id: str) -> bool:
    """Show what waits and have it approved by its hash, or rejected; whether it was decided."""
    from synthorg_tui.cli import shapes
    from synthorg_tui.cli.commands import proposals_view
    from synthorg_tui.cli.commands.proposals import person_at_terminal

    review = await engine.reviews.review(item_id)
    trail = await engine.approvals.events(item_id)
    context.console.show(proposals_view.review_view(review, trail))
    wanted = shapes.short_hash(review)
    async with person_at_terminal(context, engine, review) as terminal:
        typed = terminal.ask(
            "Type the hash to let it happen, no to refuse it, nothing to leave it waiting:"
        ).lower()
        with proposals_view.shown_again(context.console):
            if typed == wanted:
                await engine.reviews.approve(item_id, shown=review.shown, person=terminal.person)
            elif typed in ("n", "no"):
                reason = terminal.ask("Why not? The agent is told:") or "refused by the person"
                await engine.reviews.reject(
                    item_id, shown=review.shown, reason=reason, person=terminal.person
                )
            elif typed:
                context.console.warning("that is not the hash; nothing was decided")
    return bool(typed) and typed in (wanted, "n", "no")
