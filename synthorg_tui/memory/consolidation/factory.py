"""Makes the strategy that the settings describe; nothing is read or loaded yet."""

from collections.abc import Callable
from typing import TypeAlias

from synthorg_tui.memory.consolidation.abstractive import AbstractiveSummarizer
from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ConsolidationStrategyType,
)
from synthorg_tui.memory.consolidation.density import DensityClassifier
from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver
from synthorg_tui.memory.consolidation.operations import ConcatenationOp, DensityRoutingOp
from synthorg_tui.memory.consolidation.strategy import (
    DEFAULT_GROUP_THRESHOLD,
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


def no_model(name: str | None) -> None:
    """Return no model whatever its name is: every text is then made by code."""


def create_consolidation_strategy(
    config: ConsolidationConfig,
    *,
    backend: MemoryBackend,
    models: ModelByName = no_model,
) -> ProposingStrategy:
    """Return the strategy that the settings ask for.

    Args:
        config: Which strategy, and its bounds.
        backend: Where memories are read, stored and deleted.
        models: Which model writes; without one every text is made by code.
    """
    is_llm = config.strategy is ConsolidationStrategyType.LLM
    threshold = config.llm.group_threshold if is_llm else DEFAULT_GROUP_THRESHOLD
    selector = HighestRelevanceSelector(threshold)
    return Composite(selector, _operation(config, backend, models), backend, parallel=is_llm)


def _operation(
    config: ConsolidationConfig, backend: MemoryBackend, models: ModelByName
) -> ConsolidationOp:
    if config.strategy is ConsolidationStrategyType.LLM:
        return LLMSynthesisOp(backend, models(None), config.llm)
    dual = config.archival.dual_mode
    if not dual.enabled and config.strategy is not ConsolidationStrategyType.DUAL_MODE:
        return ConcatenationOp()
    provider = models(dual.summarization_model)
    summarizer = None
    if provider is not None:
        summarizer = AbstractiveSummarizer(
            provider=provider,
            model=dual.summarization_model or "configured",
            max_summary_tokens=dual.max_summary_tokens,
        )
    return DensityRoutingOp(
        DensityClassifier(dual.dense_threshold),
        ExtractivePreserver(dual.max_facts, dual.anchor_length),
        summarizer,
    )
