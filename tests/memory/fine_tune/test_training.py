"""Training as numbers: it learns, stops, says when it can't, and goes on from any step."""

import numpy as np
import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.models import FineTuneRunConfig
from synthorg_tui.memory.fine_tune.training import (
    PATIENCE,
    STEPS_AT_ONCE,
    Numbers,
    TrainingGroup,
    TrainingState,
    train,
)
from tests.tables import rows

DIMS = 12
CONFIG = FineTuneRunConfig(epochs=30, learning_rate=0.05, temperature=0.05)


def group(count: int = 40) -> TrainingGroup:
    """Questions that are their texts with the numbers turned round."""
    random = np.random.default_rng(1)
    texts = random.standard_normal((count, DIMS)).astype(np.float32)
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    every = np.ones((count, count), bool)
    return TrainingGroup(texts[:, ::-1].copy(), texts, np.eye(count, dtype=np.float32), every)


def right(matrix: Numbers) -> float:
    """The share of questions whose own text is the best one."""
    known = group()
    scores = (known.queries @ matrix.T) @ known.texts.T
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


def finished(state: TrainingState, config: FineTuneRunConfig = CONFIG) -> TrainingState:
    while train(state, [group()], config, right):
        pass
    return state


def test_it_learns_a_map_that_holds_for_all() -> None:
    state = finished(TrainingState.new(DIMS))
    assert right(TrainingState.new(DIMS).best) < 0.2
    assert right(state.best) > 0.9
    assert state.curve[-1].loss < state.curve[0].loss


@rows("looks", [0, 1, 4])
def test_interrupted_after_any_look_it_ends_with_the_same_bytes(looks: int) -> None:
    whole = finished(TrainingState.new(DIMS))
    state = TrainingState.new(DIMS)
    for _ in range(looks):
        train(state, [group()], CONFIG, right)
    again = finished(TrainingState.from_bytes(state.to_bytes()))
    assert again.to_bytes() == whole.to_bytes()


def test_without_a_gain_it_stops_and_keeps_the_start() -> None:
    state = TrainingState.new(DIMS)
    config = CONFIG.model_copy(update={"epochs": 1000})
    while train(state, [group()], config, lambda _: 0.5):
        pass
    assert state.step == PATIENCE * STEPS_AT_ONCE
    assert state.best.tobytes() == np.eye(DIMS, dtype=np.float32).tobytes()


def test_it_takes_no_more_steps_than_it_may() -> None:
    config = CONFIG.model_copy(update={"epochs": STEPS_AT_ONCE + 1})
    assert finished(TrainingState.new(DIMS), config).step == STEPS_AT_ONCE + 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_rate_that_leaves_all_bounds_is_told() -> None:
    config = CONFIG.model_copy(update={"learning_rate": 1e38})
    with pytest.raises(DomainError, match="learning rate"):
        finished(TrainingState.new(DIMS), config)
