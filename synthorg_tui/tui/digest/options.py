"""The retrieval settings that a person may change for one question, and their rendering.

The configuration itself isn't changed: a question carries only the differences. Which values are
valid together is decided by the engine, which refuses a question with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from synthorg_tui.tui.base.lines import Line, beside, line, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.listing import AgentPlaces
    from synthorg_tui.memory.scenarios import Value


@dataclass(frozen=True, slots=True)
class Option:
    """A setting, with its name in ``memory.retrieval``.

    Its value is one of ``choices``, or a number from ``low`` to ``high`` in fixed steps.
    """

    name: str
    label: str
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    step: float = 0.0

    def turned(self, value: Value, by: int) -> Value:
        """Return the value ``by`` steps after this one.

        Choices wrap around, numbers stop at the ends.
        """
        if self.choices:
            at = self.choices.index(value) if value in self.choices else 0
            return self.choices[(at + by) % len(self.choices)]
        if not isinstance(value, (int, float)):
            return value
        moved = min(max(value + by * self.step, self.low), self.high)
        return int(moved) if isinstance(value, int) else round(moved, 4)


PROJECT = "project"
SESSION = "session"
ALL_PROJECTS = "all projects"
NO_PROJECT = "no project"
NO_SESSION = "no session"
"""What the place that the agent works in may be, besides its projects and sessions."""
_PLACES = (PROJECT, SESSION)

_OFF_ON = (False, True)
OPTIONS: tuple[Option, ...] = (
    Option("fusion_strategy", "Fusion", ("score", "linear", "rrf")),
    Option("relevance_weight", "Relevance weight", step=0.05),
    Option("min_relevance", "Minimum relevance", step=0.05),
    Option("max_memories", "Most memories", low=1, high=100, step=1),
    Option("diversity_penalty_enabled", "Variety", _OFF_ON),
    Option("diversity_lambda", "Variety 0-1", step=0.05),
    Option("non_inferable_only", "Only what can't be looked up", _OFF_ON),
    Option("include_shared", "Shared", _OFF_ON),
    Option("digest_v1", "Budgeted format", _OFF_ON),
    Option("sensitivities", "May contain", ("public", "public private", "all")),
)


class Options:
    """The configured values, and those the person changed for the question."""

    def __init__(self) -> None:
        self._strategy = Option("strategy", "Strategy")
        self._configured: dict[str, Value] = {}
        self._changed: dict[str, Value] = {}
        self._places: tuple[Option, ...] = (
            Option(PROJECT, "Works in"),
            Option(SESSION, "Session"),
        )

    def configure(self, settings: Mapping[str, Value], strategies: tuple[str, ...]) -> None:
        """Set the configured values and the strategies to choose from; changed values stay."""
        self._strategy = replace(self._strategy, choices=strategies)
        places = {name: self._configured[name] for name in _PLACES if name in self._configured}
        self._configured = dict(settings) | places
        self._changed = {
            name: value
            for name, value in self._changed.items()
            if name in self._configured and self._configured[name] != value
        }

    def place(self, places: AgentPlaces, usual: str | None) -> None:
        """Set the projects and sessions to choose from; the agent works in ``usual`` at first."""
        project, session = self._places
        usual_project = usual or NO_PROJECT
        others = (known for known in places.projects if known != usual)
        ends = () if usual is None else (NO_PROJECT,)
        projects = (usual_project, *others, *ends, ALL_PROJECTS)
        self._places = (
            replace(project, choices=projects),
            replace(session, choices=(NO_SESSION, *places.sessions)),
        )
        self._configured |= {PROJECT: usual_project, SESSION: NO_SESSION}
        for option in self._places:
            if self._changed.get(option.name) not in option.choices[1:]:
                self._changed.pop(option.name, None)

    def work_in(self, visibility: Visibility | None) -> None:
        """Choose the project and session of a saved question, even if nothing is stored there."""
        project = ALL_PROJECTS if visibility is None else visibility.project or NO_PROJECT
        session = (visibility and visibility.session_id) or NO_SESSION
        for name, value in ((PROJECT, project), (SESSION, session)):
            self._places = tuple(
                replace(option, choices=(*option.choices, value))
                if option.name == name and value not in option.choices
                else option
                for option in self._places
            )
            self._configured.setdefault(name, value)
            self._set(name, value)

    @property
    def visibility(self) -> Visibility | None:
        """The project and session that the agent works in; ``None`` for all of them."""
        from synthorg_tui.memory.index.protocol import Visibility

        if PROJECT not in self._configured:
            return Visibility(None, None)
        project, session = (str(self.value(name)) for name in _PLACES)
        if project == ALL_PROJECTS:
            return None
        return Visibility(
            None if session == NO_SESSION else session, None if project == NO_PROJECT else project
        )

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options the engine supports, of which there is more than one choice."""
        choice = (self._strategy,) if len(self._strategy.choices) > 1 else ()
        places = tuple(
            option
            for option, least in zip(self._places, (3, 2), strict=True)
            if len(option.choices) >= least
        )
        known = (*places, *choice, *OPTIONS)
        return tuple(option for option in known if option.name in self._configured)

    def __contains__(self, name: object) -> bool:
        return name in self._configured

    @property
    def count_changed(self) -> int:
        """The number of options that differ from the configuration."""
        return len(self._changed)

    def value(self, name: str) -> Value:
        """Return the value in force: the changed one, or else the configured one."""
        return self._changed.get(name, self._configured[name])

    def is_changed(self, name: str) -> bool:
        """Return whether the value differs from the configured one."""
        return name in self._changed

    def turn(self, name: str, by: int) -> None:
        """Move an option by a number of steps; at its configured value it is unchanged again."""
        option = next(option for option in self.shown if option.name == name)
        self._set(name, option.turned(self.value(name), by))

    def reset(self, name: str | None = None) -> None:
        """Reset an option, or all without a name, to the configured value."""
        if name is None:
            self._changed.clear()
        else:
            self._changed.pop(name, None)

    def load(self, overrides: Mapping[str, Value]) -> None:
        """Change exactly the values that a saved question overrides."""
        self._changed = {name: v for name, v in self._changed.items() if name in _PLACES}
        for name, value in overrides.items():
            if name in self._configured:
                self._set(name, value)

    def _set(self, name: str, value: Value) -> None:
        if value == self._configured[name]:
            self._changed.pop(name, None)
        else:
            self._changed[name] = value

    @property
    def overrides(self) -> dict[str, Value]:
        """Return the values for ``Question.overrides``.

        The weights of relevance and recency add up to one, so changing one of them includes the
        other.
        """
        changed = {name: v for name, v in self._changed.items() if name not in _PLACES}
        if not (
            self.value("diversity_penalty_enabled")
            if "diversity_penalty_enabled" in self._configured
            else True
        ):
            changed.pop("diversity_lambda", None)
        if {"relevance_weight", "fusion_strategy"} & changed.keys():
            weight = (
                self.value("relevance_weight") if "relevance_weight" in self._configured else 0.7
            )
            if isinstance(weight, (int, float)):
                changed["relevance_weight"] = weight
                changed["recency_weight"] = round(1.0 - weight, 4)
        return dict(sorted(changed.items()))


def option_lines(options: Options, width: int) -> list[tuple[object, Line]]:
    """Render a line for each option, with its name; a dot marks a changed one."""
    lines: list[tuple[object, Line]] = []
    for option in options.shown:
        changed = options.is_changed(option.name)
        left = line(("• " if changed else "  ", "warn"))
        left.add(option.label, "strong" if changed else "text")
        value = shown_value(option.name, options.value(option.name))
        right = line(("‹ ", "faint"), (value, "accent" if changed else "muted"), (" ›", "faint"))
        lines.append((option.name, beside(left, right, width)))
    return lines


def shown_value(name: str, value: Value) -> str:
    """Return a value as text for the person."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "relevance_weight" and isinstance(value, (int, float)):
        return f"{value:.2f} : {1 - value:.2f}"
    if name == PROJECT and isinstance(value, str) and value.startswith("/"):
        return one_line(value.rpartition("/")[2] or value)
    return f"{value:.2f}" if isinstance(value, float) else one_line(str(value))


def options_summary(options: Options) -> Line:
    """Render the options in force in one line; a dot marks changed ones."""
    summary = Line()
    for name in ("strategy", "fusion_strategy"):
        if name in options:
            role = "accent" if options.is_changed(name) else "muted"
            summary.add(" · " if summary.spans else "", "faint")
            summary.add("•" if options.is_changed(name) else "", "warn")
            summary.add(str(options.value(name)), role)
    others = sum(
        options.is_changed(option.name)
        for option in options.shown
        if option.name not in ("strategy", "fusion_strategy", *_PLACES)
    )
    if others:
        summary.add(" · ", "faint").add(f"•{others} more changed", "warn")
    return summary
