"""Trains the adapter: a linear map of queries, by Adam, with all other texts as negatives.

Pure functions of arrays, without a store. The same input gives the same bytes, whether or not
training was interrupted: its whole state is what ``TrainingState`` holds. What a question may take
for wrong answers is decided in ``mining``, when to stop by whoever calls ``train``.
"""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.models import CurvePoint, FineTuneRunConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float32]
    Flags: TypeAlias = NDArray[np.bool_]
else:
    Numbers = Flags = Any

STEPS_AT_ONCE: Final = 3
"""Steps between two looks at the validation questions; so much is done again after a crash."""
PATIENCE: Final = 5
"""Looks without an improvement after which training stops."""

_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_NEVER: Final = -1e9


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """Questions that are asked among the same texts, as unit vectors in rows.

    ``targets`` has for each question what the texts should get, which sums to 1; ``allowed`` says
    which texts count at all: the answers, and what is surely none. ``numbers`` are those of the
    questions.
    """

    queries: Numbers
    texts: Numbers
    targets: Numbers
    allowed: Flags
    numbers: tuple[int, ...] = ()


@dataclass(slots=True)
class TrainingState:
    """Where training stands: the matrix, Adam's moments, and the best matrix so far."""

    matrix: Numbers
    first: Numbers
    second: Numbers
    best: Numbers
    step: int = 0
    best_step: int = 0
    curve: list[CurvePoint] = field(default_factory=list)

    @classmethod
    def new(cls, dims: int) -> "TrainingState":
        """Return the start: the map that changes nothing."""
        import numpy as np

        identity = np.eye(dims, dtype=np.float32)
        return cls(identity, np.zeros_like(identity), np.zeros_like(identity), identity.copy())

    @property
    def is_stuck(self) -> bool:
        """Whether the last looks brought nothing better."""
        return self.step - self.best_step >= PATIENCE * STEPS_AT_ONCE

    def to_bytes(self) -> bytes:
        """Return all of it as bytes."""
        about = {
            "dims": self.matrix.shape[0],
            "step": self.step,
            "best_step": self.best_step,
            "curve": [point.model_dump() for point in self.curve],
        }
        header = json.dumps(about).encode()
        arrays = (self.matrix, self.first, self.second, self.best)
        numbers = b"".join(array.astype("<f4").tobytes() for array in arrays)
        return struct.pack("<I", len(header)) + header + numbers

    @classmethod
    def from_bytes(cls, content: bytes) -> "TrainingState":
        """Read what ``to_bytes`` gave."""
        import numpy as np

        (length,) = struct.unpack_from("<I", content)
        about = json.loads(content[4 : 4 + length])
        flat = np.frombuffer(content, "<f4", offset=4 + length).astype(np.float32)
        arrays = flat.reshape(4, about["dims"], about["dims"])
        curve = [CurvePoint.model_validate(point) for point in about["curve"]]
        matrix, first, second, best = (array.copy() for array in arrays)
        return cls(matrix, first, second, best, about["step"], about["best_step"], curve)


def train(
    state: TrainingState,
    groups: Sequence[TrainingGroup],
    config: FineTuneRunConfig,
    metric: Callable[[Numbers], float],
) -> bool:
    """Take a few steps and look at the validation questions; return whether training goes on.

    ``metric`` tells how good a matrix is on them. The first call only looks at the start. Raises
    ``DomainError`` when the numbers leave all bounds, as with too large a learning rate.
    """
    import numpy as np

    if not state.curve:
        loss, _ = _gradient(state.matrix, groups, config.temperature)
        state.curve.append(CurvePoint(step=0, loss=loss, metric=metric(state.matrix)))
        return True
    for _ in range(min(STEPS_AT_ONCE, config.epochs - state.step)):
        loss, gradient = _gradient(state.matrix, groups, config.temperature)
        _adam(state, gradient, config.learning_rate)
    if not (np.isfinite(loss) and np.isfinite(state.matrix).all()):
        raise DomainError(
            "training left all bounds: the learning rate is too large for these questions",
            remedy="Start a run with a smaller --learning-rate.",
        )
    found = metric(state.matrix)
    if found > max(point.metric for point in state.curve):
        state.best, state.best_step = state.matrix.copy(), state.step
    state.curve.append(CurvePoint(step=state.step, loss=loss, metric=found))
    return state.step < config.epochs and not state.is_stuck


def _gradient(
    matrix: Numbers, groups: Sequence[TrainingGroup], temperature: float
) -> tuple[float, Numbers]:
    """The mean loss of all questions, and its gradient."""
    import numpy as np

    total = np.zeros_like(matrix)
    loss, count = 0.0, 0
    for group in groups:
        mapped = group.queries @ matrix.T
        lengths = np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), _TINY)
        unit = mapped / lengths
        scores = np.where(group.allowed, unit @ group.texts.T / temperature, _NEVER)
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        loss -= float((group.targets * np.log(shares + 1e-12)).sum())
        slope = ((shares - group.targets) / temperature) @ group.texts
        slope -= (slope * unit).sum(axis=1, keepdims=True) * unit
        total += (slope / lengths).T @ group.queries
        count += len(group.queries)
    return loss / max(1, count), (total / np.float32(max(1, count))).astype(np.float32)


def _adam(state: TrainingState, gradient: Numbers, rate: float) -> None:
    import numpy as np

    state.step += 1
    state.first = (_FIRST * state.first + (1 - _FIRST) * gradient).astype(np.float32)
    state.second = (_SECOND * state.second + (1 - _SECOND) * gradient**2).astype(np.float32)
    mean = state.first / np.float32(1 - _FIRST**state.step)
    spread = np.sqrt(state.second / np.float32(1 - _SECOND**state.step)) + np.float32(_TINY)
    state.matrix = (state.matrix - np.float32(rate) * mean / spread).astype(np.float32)
