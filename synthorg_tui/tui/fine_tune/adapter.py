"""What the Fine-tune screen asks of the engine, with the person who trains and deploys.

The app starts without the engine, so what loads it is imported inside. Whatever changes something
is refused where an agent runs the app: agents ask over MCP, and a person decides in Approvals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.fine_tune.models import (
        ActiveEmbedderSnapshot,
        CheckpointRecord,
        FineTunePlan,
        FineTuneRun,
        FineTuneStatus,
        FineTuneTrainer,
        PreflightResult,
    )
    from synthorg_tui.memory.service import MemoryService

MOST: Final = 100
"""Runs and checkpoints that are listed, the newest of each."""


@dataclass(frozen=True, slots=True)
class TuningView:
    """What is in force, and the newest checkpoints and runs, with how many there are."""

    active: "ActiveEmbedderSnapshot"
    checkpoints: "tuple[CheckpointRecord, ...]"
    runs: "tuple[FineTuneRun, ...]"
    checkpoint_count: int = 0
    run_count: int = 0


class FineTuneDesk:
    """Fine-tuning of the store that the app has open. Failures are ``DomainError``.

    ``engine`` returns the open engine, or raises.
    """

    def __init__(self, engine: "Callable[[], Engine]") -> None:
        self._engine = engine

    async def view(self) -> TuningView:
        """Return all that the screen lists."""
        service = self._service
        checkpoints, checkpoint_count = await service.list_checkpoints(limit=MOST, offset=0)
        runs, run_count = await service.list_runs(limit=MOST, offset=0)
        active = await service.get_active_embedder()
        return TuningView(active, checkpoints, runs, checkpoint_count, run_count)

    async def status(self) -> "FineTuneStatus":
        """Return how the active run stands; quick, to be asked while it works."""
        return await self._service.get_fine_tune_status()

    def trainers(self) -> "tuple[FineTuneTrainer, ...]":
        """Return what can be trained here, with the libraries that are installed."""
        from synthorg_tui.memory.fine_tune.base_models import missing_libraries
        from synthorg_tui.memory.fine_tune.models import FineTuneTrainer

        return (FineTuneTrainer.ADAPTER,) if missing_libraries() else tuple(FineTuneTrainer)

    async def preflight(self, trainer: "FineTuneTrainer | None" = None) -> "PreflightResult":
        """Look at what a run on the store's own memories would need; of the adapter by default."""
        return await self._service.run_preflight(self._plan(trainer))

    async def start(self, trainer: "FineTuneTrainer | None" = None) -> "FineTuneRun":
        """Begin a run on the store's own memories; refused where an agent runs the app."""
        _require_person()
        return await self._service.start_fine_tune(self._plan(trainer))

    async def resume(self, run_id: str) -> "FineTuneRun":
        """Go on with a run that broke off."""
        _require_person()
        return await self._service.resume_fine_tune(run_id)

    async def cancel(self) -> str | None:
        """Stop the active run and return its id; what is done is kept."""
        _require_person()
        return await self._service.cancel_fine_tune()

    async def deploy(self, checkpoint_id: str) -> "CheckpointRecord":
        """Have searches use a checkpoint from now on."""
        actor = _require_person()
        return await self._service.deploy_checkpoint(checkpoint_id, actor=actor)

    async def roll_back(self, checkpoint_id: str) -> "CheckpointRecord":
        """Have searches answered as before this checkpoint was deployed."""
        actor = _require_person()
        return await self._service.rollback_checkpoint(checkpoint_id, actor=actor)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Delete a checkpoint that isn't in force, for good."""
        _require_person()
        await self._service.delete_checkpoint(checkpoint_id)

    async def delete_run(self, run_id: str) -> None:
        """Delete a run that has no checkpoint, with what its stages stored."""
        _require_person()
        await self._service.delete_run(run_id)

    def _plan(self, trainer: "FineTuneTrainer | None") -> "FineTunePlan":
        from synthorg_tui.memory.fine_tune.models import FineTunePlan, FineTuneTrainer

        source, chosen = self._engine().data_dir.absolute(), trainer or FineTuneTrainer.ADAPTER
        return FineTunePlan(source_dir=str(source), trainer=chosen)

    @property
    def _service(self) -> "MemoryService":
        return self._engine().memory_service


def _require_person() -> str:
    """Return the person at the screen; raise ``DecisionRefusedError`` where an agent runs it."""
    from synthorg_tui.approvals.person import Person, require_no_agent

    require_no_agent()
    return str(Person("tui"))
