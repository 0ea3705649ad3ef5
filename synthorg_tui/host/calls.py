"""The engine calls that clients can make, typed by the engine's own signatures.

A call is named ``<part>.<method>``; its arguments and its result cross the wire as JSON that
pydantic makes of the annotated types and checks against them on the other side. What isn't listed
can't be called: no decision on an approval, nothing that needs the directory for itself.
"""

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from synthorg_tui.host.wire import InvalidParamsError, Json

PROGRESS: Final = "progress"
CANCEL: Final = "cancel"
"""Parameters that don't cross the wire as values: a callback, and a request to stop early."""


@dataclass(frozen=True, slots=True)
class Call:
    """One engine call: how its arguments and its result are written and read."""

    name: str
    changes: bool
    parameters: Mapping[str, TypeAdapter[Any]]
    result: TypeAdapter[Any]
    signature: inspect.Signature
    progress: TypeAdapter[Any] | None
    stops_early: bool

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Json]:
        """The arguments of a Python call as JSON; relative paths become absolute."""
        bound = self.signature.bind(None, *args, **kwargs)
        return {
            name: self.parameters[name].dump_python(_absolute(value), mode="json")
            for name, value in bound.arguments.items()
            if name in self.parameters
        }

    def decode(self, params: Mapping[str, Json]) -> dict[str, Any]:
        """The arguments that JSON describes; raises ``InvalidParamsError``."""
        unknown = sorted(params.keys() - self.parameters.keys())
        if unknown:
            raise InvalidParamsError(f"{self.name} has no parameter {unknown[0]!r}")
        values = {}
        for name, value in params.items():
            try:
                values[name] = self.parameters[name].validate_python(value)
            except ValidationError as error:
                raise InvalidParamsError(f"{self.name}: {name}: {_what(error)}") from error
        try:
            self.signature.bind(None, **values)
        except TypeError as error:
            raise InvalidParamsError(f"{self.name}: {error}") from error
        return values


@cache
def calls() -> Mapping[str, Call]:
    """Every call of a person's programs by name."""
    found = [
        _call(part, method, getattr(owner, method), method in changing)
        for part, owner, reading, changing in _surface()
        for method in (*reading, *changing)
    ]
    return {call.name: call for call in found}


@cache
def agent_calls() -> Mapping[str, Call]:
    """Every call of a client that acts as an agent, by name; it can make no others."""
    from synthorg_tui.agents.session import AgentSession

    methods = ("tools", "call", "digest", "skills", "read_skill")
    found = [_call("agent", each, getattr(AgentSession, each), False) for each in methods]
    return {call.name: call for call in found}


def _surface() -> tuple[tuple[str, type, tuple[str, ...], tuple[str, ...]], ...]:
    """Parts of the engine: name, the class with the signatures, reading and changing calls."""
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.engine import Engine
    from synthorg_tui.ingest.service import ImportService
    from synthorg_tui.memory.backends.local.backend import LocalMemoryBackend
    from synthorg_tui.memory.backends.local.maintenance import Maintenance
    from synthorg_tui.memory.extensions import Desk
    from synthorg_tui.memory.injection_service import InjectionService
    from synthorg_tui.memory.procedural.evolution import EvolutionService
    from synthorg_tui.memory.procedural.learn import LearnService
    from synthorg_tui.memory.procedural.pruning.service import PruneService
    from synthorg_tui.memory.procedural.review import ReviewDesk
    from synthorg_tui.memory.procedural.shelf import SkillShelf
    from synthorg_tui.memory.scenarios import ScenarioService
    from synthorg_tui.persistence.executions import ExecutionStore
    from synthorg_tui.persistence.usage import DuckDBUsageStore

    return (
        ("engine", Engine, ("agents",), ()),
        (
            "desk",
            Desk,
            ("find", "browse", "lookup", "facets", "history"),
            ("edit", "remove", "restore", "purge"),
        ),
        ("memory", LocalMemoryBackend, ("get", "count"), ("store", "store_many")),
        ("executions", ExecutionStore, ("get", "excerpt", "count"), ()),
        ("injection", InjectionService, ("prepare", "serve"), ()),
        ("skills", SkillShelf, ("overview", "skill"), ("sync", "offer")),
        ("scenarios", ScenarioService, ("list", "run"), ("save", "delete")),
        ("imports", ImportService, ("discover",), ("run",)),
        ("evolution", EvolutionService, (), ("run",)),
        ("pruning", PruneService, (), ("propose",)),
        ("usage", DuckDBUsageStore, ("since", "tokens_since"), ()),
        ("learning", LearnService, (), ("learn",)),
        ("reviews", ReviewDesk, ("inbox", "review", "excerpt"), ()),
        ("approvals", ApprovalQueue, ("counts", "events"), ()),
        ("maintenance", Maintenance, ("doctor", "backup"), ()),
    )


def _call(part: str, method: str, function: Callable[..., Any], changes: bool) -> Call:
    hints = get_type_hints(function)
    signature = inspect.signature(function)
    progress = hints.get(PROGRESS)
    return Call(
        name=f"{part}.{method}",
        changes=changes,
        parameters={
            name: TypeAdapter(hint)
            for name, hint in hints.items()
            if name not in {"return", PROGRESS, CANCEL}
        },
        result=TypeAdapter(hints["return"]),
        signature=signature,
        progress=TypeAdapter(_reported(progress)) if progress is not None else None,
        stops_early=CANCEL in hints and threading.Event in get_args(hints[CANCEL]),
    )


def _reported(callback: Any) -> Any:
    """What a ``Callable[[X], None] | None`` is called with."""
    for option in (callback, *get_args(callback)):
        arguments = get_args(option)
        if arguments and isinstance(arguments[0], list):
            return arguments[0][0]
    raise TypeError(f"{callback} is no callback")


def _absolute(value: Any) -> Any:
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, list | tuple) and value and all(isinstance(each, Path) for each in value):
        return [each.absolute() for each in value]
    return value


def _what(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
