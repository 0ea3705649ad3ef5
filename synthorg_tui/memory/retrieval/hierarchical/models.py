"""What goes to the searches and what comes back."""

from enum import StrEnum

from pydantic import Field

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.ranking import ScoredMemory

MAX_RESULTS = 100


class WorkerName(StrEnum):
    """The searches there are."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class RetrievalQuery(FrozenModel):
    """Who looks for what; ``categories`` ``None`` doesn't filter."""

    agent_id: NotBlankStr
    text: NotBlankStr
    categories: frozenset[MemoryCategory] | None = None
    max_results: int = Field(default=20, ge=1, le=MAX_RESULTS)


class WorkerResult(FrozenModel):
    """What one search found, best first; ``error`` says why it found nothing, if it failed.

    ``degraded`` says in words which of its sources was missing, else it is empty.
    """

    worker_name: WorkerName
    candidates: tuple[ScoredMemory, ...] = ()
    execution_ms: float = Field(default=0.0, ge=0.0)
    error: str | None = None
    degraded: str = ""


class RetrievalResult(FrozenModel):
    """What all searches found together, best first, after ``retries_performed`` retries."""

    candidates: tuple[ScoredMemory, ...]
    execution_ms: float = Field(ge=0.0)
    retries_performed: int = Field(default=0, ge=0)
    degraded: str = ""
