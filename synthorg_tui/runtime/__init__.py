"""The runtime: agents that run here, step by step, with limits, tools and a person's say."""

from pydantic import Field

from synthorg_tui.core.types import FrozenModel


class RunLimits(FrozenModel):
    """What a run may use before it ends; the first limit that is reached ends it.

    ``turns`` are answers of the model, ``tokens`` those it read and wrote in all of them, ``cost``
    is in the currency of the configured prices (``None`` is no limit), ``seconds`` are those in
    which the run works, not those in which it waits for a person. ``output_chars`` is how much of
    one tool's output the model is shown, ``retries`` how often a failed request to the model is
    made again.
    """

    turns: int = Field(default=30, ge=1, le=1000)
    tokens: int = Field(default=200_000, ge=1)
    cost: float | None = Field(default=None, ge=0.0)
    seconds: float = Field(default=1800.0, gt=0.0)
    output_chars: int = Field(default=20_000, ge=200, le=1_000_000)
    retries: int = Field(default=2, ge=0, le=10)


class RuntimeConfig(FrozenModel):
    """Settings of the agents that run here.

    ``enabled`` false lets no run begin, and ends those that work before their next step.
    ``memory_tokens`` is the token budget of the digest that a run begins with.
    ``max_format_errors`` calls in a row that can't be read end a run.
    """

    enabled: bool = True
    limits: RunLimits = RunLimits.model_construct()
    memory_tokens: int = Field(default=1500, ge=0, le=100_000)
    max_format_errors: int = Field(default=3, ge=1, le=20)
