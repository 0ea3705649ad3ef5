"""What figures and machine come to, in words: which tier fits, and which embedder to choose.

The documents know three tiers: full resources (models of 7 to 12 billion parameters), medium ones
(1 to 4), and no more than a processor (less than one). A larger model isn't better at finding
memories as such, so a tier says only what may be tried; what is chosen, the figures say.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.core.text import counted
from synthorg_tui.memory.evaluation.metrics import Interval
from synthorg_tui.memory.evaluation.report import EmbedderFigures, QuestionSet, SetFigures

PATIENCE_MS: Final = 500.0
"""How long an agent may wait for a digest: beyond it another embedder is no choice."""
_GIGABYTE: Final = 1024**3
_FULL: Final = (32 * _GIGABYTE, "full resources, for models of 7 to 12 billion parameters")
_MEDIUM: Final = (16 * _GIGABYTE, "medium resources, for models of 1 to 4 billion parameters")
_PROCESSOR: Final = "a processor alone, for models of less than a billion parameters"
_MANY_CORES: Final = 8
_DEVICES: Final = ("/dev/nvidia0", "/dev/kfd")


class Machine(NamedTuple):
    """What models may use here: processor cores, memory in bytes, and whether there is a GPU."""

    cores: int
    memory: int
    has_gpu: bool

    @property
    def tier(self) -> str:
        """The largest of the three tiers whose models run here at a speed that agents wait for."""
        if self.has_gpu and self.memory >= _FULL[0]:
            return _FULL[1]
        if self.memory >= _MEDIUM[0] and (self.has_gpu or self.cores >= _MANY_CORES):
            return _MEDIUM[1]
        return _PROCESSOR

    @property
    def words(self) -> str:
        """The machine in a few words."""
        gpu = "a GPU" if self.has_gpu else "no GPU found"
        return f"{counted(self.cores, 'core')}, {self.memory / _GIGABYTE:.0f} GB, {gpu}"


def this_machine() -> Machine:
    """Return what there is here, as far as the system tells it."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        memory = 0
    has_gpu = any(Path(device).exists() for device in _DEVICES) or (
        sys.platform == "darwin" and os.uname().machine == "arm64"
    )
    return Machine(os.cpu_count() or 1, memory, has_gpu)


def advice_for(
    sets: Sequence[QuestionSet], embedders: Sequence[EmbedderFigures], machine: Machine
) -> tuple[str, ...]:
    """Return what to do, a sentence each: the tier first, then what each set of questions says."""
    tier = f"This machine ({machine.words}) has {machine.tier}."
    return (tier, *(_on(each, embedders) for each in sets))


def _on(asked: QuestionSet, embedders: Sequence[EmbedderFigures]) -> str:
    place = f"By {asked.name}"
    if not asked.questions:
        return f"{place} nothing can be said: there is no question yet."
    if asked.is_small:
        return (
            f"{place} nothing should be chosen yet: {counted(asked.questions, 'question')} "
            "are too few. Keep what is active."
        )
    active = next((each for each in embedders if each.is_active), None)
    if active is None or active.of(asked.name) is None:
        return f"{place} nothing can be said: the active embedder has no figures."
    better = [
        (gain.mean, each.name, gain)
        for each in embedders
        if (figures := each.of(asked.name)) is not None
        and figures.p95_ms <= PATIENCE_MS
        and (gain := _sure_gain(figures)) is not None
    ]
    if not better:
        return _without_reranker(place, asked, embedders, active)
    _, name, gain = max(better)
    return (
        f"{place} choose {name}: NDCG@10 is better by {gain.mean:+.3f} "
        f"({gain.low:+.3f} to {gain.high:+.3f}) than with {active.name}."
    )


def _without_reranker(
    place: str, asked: QuestionSet, embedders: Sequence[EmbedderFigures], active: EmbedderFigures
) -> str:
    """What to do where nothing is better: a re-ranker stays only if less is found without it."""
    plain = next((e for e in embedders if f"{e.name} + {active.reranker}" == active.name), None)
    figures = plain.of(asked.name) if plain is not None else None
    if plain is None or figures is None or figures.gain is None:
        tried = any(each.reranker for each in embedders)
        left_out = ", and leave the re-ranker out" if tried and not active.reranker else ""
        return f"{place} keep {active.name}{left_out}: {_why(asked, embedders)}."
    if figures.gain.ndcg_10.high < 0:
        return f"{place} keep {active.name}: without the re-ranker less is found."
    return f"{place} switch the re-ranker off: what it gains may be noise, and it takes time."


def _why(asked: QuestionSet, embedders: Sequence[EmbedderFigures]) -> str:
    """Why none is chosen: what surely gains may be too slow for an agent that waits."""
    for each in embedders:
        figures = each.of(asked.name)
        if figures is not None and (gain := _sure_gain(figures)) is not None:
            slow = f"{figures.p95_ms:,.0f} ms for one digest in twenty"
            return f"{each.name} is better by {gain.mean:+.3f}, but takes over {slow}"
    return "no other is better by more than the noise"


def _sure_gain(figures: SetFigures) -> Interval | None:
    """What an embedder gains on the active one, if that is no noise."""
    gain = figures.gain.ndcg_10 if figures.gain is not None else None
    return gain if gain is not None and gain.low > 0 else None
