"""The contract of executors: what carries out a run, here or in another program.

Two kinds exist: the loop of our own, and the agents of others that are installed on this machine.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from synthorg_tui.runtime.models import ExecutionResult, RunRequest, RunStep

OnStep: TypeAlias = Callable[[RunStep], None]
"""Told of each step once it is stored; may not block."""


@runtime_checkable
class RunExecutor(Protocol):
    """Carries out runs."""

    @property
    def name(self) -> str:
        """Name by which a request chooses it."""

    async def unavailable(self) -> str:
        """Return why it can't run on this machine, in words with a remedy; empty when it can."""

    async def run(
        self, run_id: str, request: RunRequest, *, steps: Sequence[RunStep], on_step: OnStep
    ) -> ExecutionResult:
        """Carry out a run to its end, or until it is parked.

        ``steps`` are those that are stored of it already; it goes on behind them. Cancelling the
        awaiting task ends it with ``SHUTDOWN`` recorded; nothing that was done is done again.
        """
