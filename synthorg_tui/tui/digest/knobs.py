"""The settings of a digest that a person may turn, and what turning them does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from synthorg_tui.tui.base.lines import Line, beside, line
from synthorg_tui.tui.digest.ports import Settings, Value


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting: one of ``choices``, or a number from ``low`` to ``high`` in steps."""

    name: str
    label: str
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    step: float = 0.0

    def turned(self, value: Value, by: int) -> Value:
        """The value one or more steps on; choices go round, numbers stop at their ends."""
        if self.choices:
            at = self.choices.index(value) if value in self.choices else 0
            return self.choices[(at + by) % len(self.choices)]
        if not isinstance(value, (int, float)):
            return value
        moved = min(max(value + by * self.step, self.low), self.high)
        return int(moved) if isinstance(value, int) else round(moved, 4)


_OFF_ON = (False, True)
KNOBS: tuple[Knob, ...] = (
    Knob("fusion_strategy", "Fusion", ("score", "linear", "rrf")),
    Knob("relevance_weight", "Relevance weight", step=0.05),
    Knob("min_relevance", "Least relevance", step=0.05),
    Knob("max_memories", "Most memories", low=1, high=100, step=1),
    Knob("diversity_penalty_enabled", "Diversity", _OFF_ON),
    Knob("diversity_lambda", "Diversity lambda", step=0.05),
    Knob("non_inferable_only", "Non-inferable", _OFF_ON),
    Knob("include_shared", "Shared", _OFF_ON),
    Knob("digest_v1", "Digest v1", _OFF_ON),
    Knob("sensitivities", "Sensitivities", ("public", "public private", "all")),
)


class Knobs:
    """The configured values and those turned away from them."""

    def __init__(self) -> None:
        self._strategy = Knob("strategy", "Strategy")
        self._configured: dict[str, Value] = {}
        self._turned: dict[str, Value] = {}

    def configure(self, settings: Settings, strategies: tuple[str, ...]) -> None:
        """Take over what is configured and which strategies there are; what was turned stays."""
        self._strategy = replace(self._strategy, choices=strategies)
        self._configured = dict(settings)
        self._turned = {
            name: value
            for name, value in self._turned.items()
            if name in self._configured and self._configured[name] != value
        }

    @property
    def shown(self) -> tuple[Knob, ...]:
        """Those that the engine has."""
        choice = (self._strategy,) if len(self._strategy.choices) > 1 else ()
        return tuple(knob for knob in (*choice, *KNOBS) if knob.name in self._configured)

    def __contains__(self, name: object) -> bool:
        return name in self._configured

    @property
    def count_changed(self) -> int:
        """How many are turned."""
        return len(self._turned)

    def value(self, name: str) -> Value:
        """The value in force."""
        return self._turned.get(name, self._configured[name])

    def is_changed(self, name: str) -> bool:
        """Whether it differs from what is configured."""
        return name in self._turned

    def turn(self, name: str, by: int) -> None:
        """Turn one that is shown; back at the configured value it no longer counts as turned."""
        knob = next(each for each in self.shown if each.name == name)
        self._set(name, knob.turned(self.value(name), by))

    def reset(self, name: str | None = None) -> None:
        """Back to what is configured: one, or all."""
        if name is None:
            self._turned.clear()
        else:
            self._turned.pop(name, None)

    def load(self, overrides: Mapping[str, Value]) -> None:
        """Turn exactly as in a saved question."""
        self._turned.clear()
        for name, value in overrides.items():
            if name in self._configured:
                self._set(name, value)

    def _set(self, name: str, value: Value) -> None:
        if value == self._configured[name]:
            self._turned.pop(name, None)
        else:
            self._turned[name] = value

    @property
    def overrides(self) -> Settings:
        """What to ask for. Relevance and recency share one whole, so one brings the other."""
        made = dict(self._turned)
        if not self._effective("diversity_penalty_enabled", True):
            made.pop("diversity_lambda", None)
        if {"relevance_weight", "fusion_strategy"} & made.keys():
            weight = self._effective("relevance_weight", 0.7)
            if isinstance(weight, (int, float)):
                made["relevance_weight"] = weight
                made["recency_weight"] = round(1.0 - weight, 4)
        return tuple(sorted(made.items()))

    def _effective(self, name: str, default: Value) -> Value:
        return self.value(name) if name in self._configured else default


def knob_lines(knobs: Knobs, width: int) -> list[tuple[object, Line]]:
    """A line for each setting; a changed one carries a dot."""
    made: list[tuple[object, Line]] = []
    for knob in knobs.shown:
        changed = knobs.is_changed(knob.name)
        left = line(("• " if changed else "  ", "warn"))
        left.add(knob.label, "strong" if changed else "text")
        value = shown_value(knob.name, knobs.value(knob.name))
        right = line(("‹ ", "faint"), (value, "accent" if changed else "muted"), (" ›", "faint"))
        made.append((knob.name, beside(left, right, width)))
    return made


def shown_value(name: str, value: Value) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "relevance_weight" and isinstance(value, (int, float)):
        return f"{value:.2f} : {1 - value:.2f}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def knobs_summary(knobs: Knobs) -> Line:
    """The settings in force on one line, the changed ones with a dot."""
    made = Line()
    for name in ("strategy", "fusion_strategy"):
        if name in knobs:
            role = "accent" if knobs.is_changed(name) else "muted"
            made.add(" · " if made.spans else "", "faint")
            made.add("•" if knobs.is_changed(name) else "", "warn")
            made.add(str(knobs.value(name)), role)
    others = sum(
        knobs.is_changed(knob.name)
        for knob in knobs.shown
        if knob.name not in ("strategy", "fusion_strategy")
    )
    if others:
        made.add(" · ", "faint").add(f"•{others} more changed", "warn")
    return made
