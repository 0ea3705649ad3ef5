"""Makes strategy and service as the settings describe them; nothing is read or loaded yet."""

from collections.abc import Callable
from typing import Final, TypeAlias

from synthorg_tui.memory.consolidation.abstractive import AbstractiveSummarizer, CostTracker
from synthorg_tui.memory.consolidation.archival import ArchivalStore
from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ConsolidationStrategyType,
    DualModeConfig,
)
from synthorg_tui.memory.consolidation.density import DensityClassifier
from synthorg_tui.memory.consolidation.experience import ExperienceCompressor, TwoTierStrategy
from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver
from synthorg_tui.memory.consolidation.operations import ConcatenationOp, DensityRoutingOp
from synthorg_tui.memory.consolidation.service import ConfigResolver, MemoryConsolidationService
from synthorg_tui.memory.consolidation.strategy import (
    Composite,
    ConsolidationOp,
    HighestRelevanceSelector,
    ProposingStrategy,
)
from synthorg_tui.memory.consolidation.synthesis import LLMSynthesisOp
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.providers.completion.protocol import CompletionProvider

ModelByName: TypeAlias = Callable[[str | None], CompletionProvider | None]
"""Returns the model with a name, for ``None`` the configured one; ``None`` when there is none."""

_CONFIGURED: Final = "configured"
"""Stands for the configured model where no other is named."""


def no_model(name: str | None) -> None:
    """Return no model whatever its name is: every text is then made by code."""


def create_consolidation_strategy(
    config: ConsolidationConfig,
    *,
    backend: MemoryBackend,
    models: ModelByName = no_model,
    cost_tracker: CostTracker | None = None,
) -> ProposingStrategy:
    """Return the strategy that the settings ask for.

    Args:
        config: Which strategy, and its bounds.
        backend: Where memories are read, stored and deleted.
        models: Which model writes. Without one every text is made by code, and raw records aren't
            compressed.
        cost_tracker: Told of the answers of summaries.
    """
    is_llm = config.strategy is ConsolidationStrategyType.LLM
    op = _operation(config, backend, models, cost_tracker)
    threshold = config.llm.group_threshold if is_llm else None
    selector = HighestRelevanceSelector(threshold) if threshold else HighestRelevanceSelector()
    plain = Composite(selector, op, backend, parallel=is_llm)
    tiers = config.experience_compressor
    provider = models(tiers.model) if tiers.enabled else None
    if provider is None:
        return plain
    compressor = ExperienceCompressor(provider, tiers)
    return TwoTierStrategy(compressor, backend, plain)


def create_consolidation_service(
    config: ConsolidationConfig,
    *,
    backend: MemoryBackend,
    models: ModelByName = no_model,
    archival_store: ArchivalStore | None = None,
    config_resolver: ConfigResolver | None = None,
) -> MemoryConsolidationService:
    """Return the service with the strategy that the settings ask for."""
    return MemoryConsolidationService(
        backend=backend,
        config=config,
        strategy=create_consolidation_strategy(config, backend=backend, models=models),
        archival_store=archival_store,
        config_resolver=config_resolver,
    )


def _operation(
    config: ConsolidationConfig,
    backend: MemoryBackend,
    models: ModelByName,
    cost_tracker: CostTracker | None,
) -> ConsolidationOp:
    if config.strategy is ConsolidationStrategyType.LLM:
        return LLMSynthesisOp(backend, models(None), config.llm)
    dual = config.archival.dual_mode
    if dual.enabled or config.strategy is ConsolidationStrategyType.DUAL_MODE:
        return DensityRoutingOp(
            DensityClassifier(dual.dense_threshold),
            ExtractivePreserver(dual.max_facts, dual.anchor_length),
            _summarizer(dual, models, cost_tracker),
        )
    return ConcatenationOp()


def _summarizer(
    dual: DualModeConfig,
    models: ModelByName,
    cost_tracker: CostTracker | None,
) -> AbstractiveSummarizer | None:
    provider = models(dual.summarization_model)
    if provider is None:
        return None
    return AbstractiveSummarizer(
        provider=provider,
        model=dual.summarization_model or _CONFIGURED,
        max_summary_tokens=dual.max_summary_tokens,
        cost_tracker=cost_tracker,
    )
