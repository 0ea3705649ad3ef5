"""Configuration of lessons: how they are drawn, pruned, spread and promoted."""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel, NotBlankStr

ANY_MODEL: Final = "example-small-001"
"""The documented default, which names no model in particular."""


class CaptureConfig(FrozenModel):
    """Which runs lessons are drawn from.

    A success is worth a lesson when its quality (confidence times ten) reaches
    ``min_quality_score`` and is in the best ``100 - success_quality_percentile`` percent of the
    successes seen.
    """

    type: Literal["failure", "success", "hybrid"] = "hybrid"
    min_quality_score: float = Field(default=8.0, ge=0.0, le=10.0)
    success_quality_percentile: float = Field(default=75.0, ge=0.0, le=100.0)


class PruningConfig(FrozenModel):
    """Which lessons are proposed for removal: too old, too many, or both."""

    type: Literal["ttl", "pareto", "hybrid"] = "ttl"
    max_age_days: int = Field(default=90, ge=1)
    max_entries: int = Field(default=100, ge=1)


class PropagationConfig(FrozenModel):
    """To which other agents an approved lesson is copied."""

    type: Literal["none", "role_scoped", "department_scoped"] = "none"
    max_propagation_targets: int = Field(default=10, ge=1)


class EvolverConfig(FrozenModel):
    """Promotion of what several agents learnt to the whole organisation, by proposal only."""

    enabled: bool = False
    requires_human_approval: Literal[True] = True
    window_days: int = Field(default=30, ge=1)
    min_confidence_for_org_promotion: float = Field(default=0.8, ge=0.0, le=1.0)
    min_agents_seen_pattern: int = Field(default=3, ge=1)
    max_proposals_per_cycle: int = Field(default=10, ge=1)
    max_org_entries: int = Field(default=10_000, ge=1)


class ProceduralMemoryConfig(FrozenModel):
    """How lessons are proposed and kept.

    ``model`` is asked for the wording when a server with several models is configured; the
    documented default names none and stands for the configured one. ``skill_md_directory``
    ``None`` writes approved skills to ``skills`` in the data directory.
    """

    enabled: bool = True
    model: NotBlankStr = ANY_MODEL
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    max_tokens: int = Field(default=1500, ge=1)
    min_confidence: float = Field(default=0.5, ge=0.0, le=1.0)
    skill_md_directory: Path | None = None
    require_approval: bool = True
    capture: CaptureConfig = CaptureConfig.model_construct()
    pruning: PruningConfig = PruningConfig.model_construct()
    propagation: PropagationConfig = PropagationConfig.model_construct()
    evolver: EvolverConfig = EvolverConfig.model_construct()
