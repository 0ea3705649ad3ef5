"""The list of engine calls that clients can make, typed by the engine's own signatures.

A call is named ``<group>.<method>``; its arguments and its result cross the wire as JSON that
pydantic makes of the annotated types and checks against them on the other side. Methods that are
not listed can't be called: none that decides on a proposal, and none that needs the data directory
for itself alone.
"""

import importlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from synthorg_tui.host.wire import InvalidParamsError, Json

PROGRESS: Final = "progress"
CANCEL: Final = "cancel"
"""Parameters that don't cross the wire as values: a callback, and a request to stop early."""


class RemoteCall:
    """One engine method, with the types that convert its arguments and its result to JSON.

    ``changes`` is true if the call changes the store; ``progress`` is the type of its progress
    reports, a tuple of what the callback is given, ``None`` if there are none; ``stops_early`` is
    true if it accepts a request to stop.
    """

    def __init__(self, name: str, function: Callable[..., Any], *, changes: bool) -> None:
        hints = get_type_hints(function)
        progress = hints.pop(PROGRESS, None)
        cancel = hints.pop(CANCEL, None)
        self.name, self.changes = name, changes
        self.signature = inspect.signature(function)
        self.result = TypeAdapter[Any](hints.pop("return"))
        self.parameters = {name: TypeAdapter[Any](hint) for name, hint in hints.items()}
        self.progress = TypeAdapter[Any](_reported(progress)) if progress is not None else None
        self.stops_early = threading.Event in get_args(cancel)

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Json]:
        """Return the arguments of a Python call as JSON; relative paths become absolute."""
        bound = self.signature.bind(None, *args, **kwargs)
        return {
            name: self.parameters[name].dump_python(_absolute(value), mode="json")
            for name, value in bound.arguments.items()
            if name in self.parameters
        }

    def decode(self, params: Mapping[str, Json]) -> dict[str, Any]:
        """Return the keyword arguments that ``params`` describes, as Python values.

        Raises ``InvalidParamsError`` when they don't fit the method's signature.
        """
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


class ApiGroup(NamedTuple):
    """The callable methods of one part of the engine, a class named by ``owner``.

    ``owner`` is written ``module:Class``. ``reads`` and ``changes`` are names of its methods: those
    that only read the store, and those that change it.
    """

    owner: str
    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods, those that only read first."""
        return (*self.reads, *self.changes)


class RemoteApi(Mapping[str, RemoteCall]):
    """A mapping of names to calls, each built from its method's signature when first used.

    Building all of them takes half a second and loads most of the program, while a command
    needs only two or three.
    """

    def __init__(self, groups: Mapping[str, ApiGroup]) -> None:
        self.groups = groups
        self._calls: dict[str, RemoteCall] = {}

    def __getitem__(self, name: str) -> RemoteCall:
        if name not in self._calls:
            part, _, method = name.partition(".")
            group = self.groups[part]
            if method not in group.methods:
                raise KeyError(name)
            module, _, owner = group.owner.partition(":")
            function = getattr(getattr(importlib.import_module(module), owner), method)
            self._calls[name] = RemoteCall(name, function, changes=method in group.changes)
        return self._calls[name]

    def __iter__(self) -> Iterator[str]:
        for name, group in self.groups.items():
            yield from (f"{name}.{method}" for method in group.methods)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_MEMORY: Final = "synthorg_tui.memory"
CALLS: Final = RemoteApi(
    {
        "engine": ApiGroup("synthorg_tui.engine:Engine", ("agents",)),
        "desk": ApiGroup(
            f"{_MEMORY}.extensions:MemoryAdmin",
            (
                *("find", "browse", "lookup", "entries", "facets", "places"),
                *("history", "authors", "uses", "similar", "stands_for"),
            ),
            (
                *("edit", "archive", "remove", "restore", "undo", "redo", "restore_version"),
                *("publish", "retract"),
            ),
        ),
        "erasure": ApiGroup("synthorg_tui.curation.erasure:Erasure", ("review",), ("purge",)),
        "sessions": ApiGroup(
            "synthorg_tui.curation.forgetting:SessionErasure",
            ("list", "conversation", "blame", "aged", "review", "memories_of"),
            ("purge",),
        ),
        "knowledge": ApiGroup(
            "synthorg_tui.knowledge.service:KnowledgeService",
            ("projects", "pages", "waiting", "known", "agent_in", "plan_edit", "renamed"),
            ("refresh", "make_edit", "undo_edit"),
        ),
        "organisation": ApiGroup(
            "synthorg_tui.organisation.service:OrganisationService",
            (
                *("entries", "entry", "history", "moments", "policies", "find"),
                *("page", "uses", "published", "last_published", "check"),
            ),
        ),
        "memory": ApiGroup(
            f"{_MEMORY}.store.backend:LocalMemoryBackend",
            ("get", "count"),
            ("store", "store_many"),
        ),
        "executions": ApiGroup(
            "synthorg_tui.executions.store:ExecutionStore",
            ("get", "excerpt", "count", "unknown_kinds", "unlearnt"),
        ),
        "injection": ApiGroup(
            f"{_MEMORY}.strategies.service:InjectionService", ("prepare", "serve")
        ),
        "absences": ApiGroup(f"{_MEMORY}.absences:Absences", ("former", "why")),
        "skills": ApiGroup(
            "synthorg_tui.curation.overview:SkillOverview", ("overview", "skill"), ("sync", "offer")
        ),
        "evaluation": ApiGroup(
            "synthorg_tui.evaluation.service:EvaluationService",
            ("known",),
            ("look", "look_at_all", "look_at_report"),
        ),
        "comparison": ApiGroup(
            f"{_MEMORY}.evaluation.comparing:EmbedderComparison", ("run",), ("note_opened",)
        ),
        "memory_service": ApiGroup(
            f"{_MEMORY}.service:MemoryService",
            (
                *("run_preflight", "get_fine_tune_status", "get_run", "list_runs"),
                *("list_checkpoints", "get_checkpoint", "get_active_embedder"),
            ),
            ("start_fine_tune", "resume_fine_tune", "cancel_fine_tune", "delete_run"),
        ),
        "scenarios": ApiGroup(
            f"{_MEMORY}.scenarios:ScenarioService", ("list", "run"), ("save", "delete")
        ),
        "imports": ApiGroup("synthorg_tui.ingest.service:ImportService", ("discover",), ("run",)),
        "org_imports": ApiGroup(
            "synthorg_tui.organisation.importing:OrgImports", ("plan", "projects")
        ),
        "following": ApiGroup("synthorg_tui.ingest.following:Following", ("status",)),
        "evolution": ApiGroup("synthorg_tui.learning.promotion:EvolutionService", changes=("run",)),
        "pruning": ApiGroup(
            "synthorg_tui.curation.pruning:PruneService", ("effects",), ("propose",)
        ),
        "usage": ApiGroup("synthorg_tui.persistence.usage:UsageStore", ("since", "tokens_since")),
        "learning": ApiGroup("synthorg_tui.learning.service:LearnService", changes=("learn",)),
        "reviews": ApiGroup(
            "synthorg_tui.curation.service:ReviewService", ("inbox", "review", "excerpt")
        ),
        "approvals": ApiGroup("synthorg_tui.approvals.queue:ApprovalQueue", ("counts", "events")),
        "trail": ApiGroup("synthorg_tui.approvals.trail:DecisionTrail", ("entries", "news")),
        "safety": ApiGroup("synthorg_tui.settings.agreed:AgreedSettings", ("agreed",)),
        "kept": ApiGroup(
            "synthorg_tui.settings.changes:SettingChanges",
            ("kept", "changes"),
            ("set", "unset", "undo", "redo"),
        ),
        "gateway": ApiGroup(
            "synthorg_tui.agents.gateway:AgentGateway",
            ("calls", "restrictions", "silenced", "hang_up"),
            ("restrict", "undo_call"),
        ),
        "maintenance": ApiGroup(
            f"{_MEMORY}.store.maintenance:Maintenance",
            ("doctor", "backup", "copies", "export"),
            ("compact", "delete_copies", "take_retention"),
        ),
        "consolidation": ApiGroup(
            "synthorg_tui.curation.consolidating:ConsolidationRuns",
            ("latest", "show"),
            ("plan", "apply", "undo", "drop"),
        ),
        "jobs": ApiGroup(
            "synthorg_tui.jobs.scheduler:JobScheduler", ("list", "runs"), ("run", "cancel")
        ),
        "runs": ApiGroup(
            "synthorg_tui.host.runs:RunCalls",
            ("list", "show", "steps", "executors"),
            ("start", "cancel", "resume"),
        ),
        "figures": ApiGroup("synthorg_tui.figures.service:FigureService", ("read",)),
        "secrets": ApiGroup("synthorg_tui.curation.secrets:SecretSearch", ("search",)),
    }
)
"""Every call of a person's programs."""

AGENT_CALLS: Final = RemoteApi(
    {
        "agent": ApiGroup(
            "synthorg_tui.agents.session:AgentSession",
            ("tools", "call", "digest", "hint", "skills", "read_skill"),
            (
                "add_memory",
                "edit_memory",
                "delete_memories",
                "restore_memories",
                "end_session",
            ),
        )
    }
)
"""Every call of a client that acts as an agent; it can make no others."""


def _reported(callback: Any) -> Any:
    """The ``tuple[X, Y]`` of a ``Callable[[X, Y], None] | None``."""
    for option in (callback, *get_args(callback)):
        arguments = get_args(option)
        if arguments and isinstance(arguments[0], list):
            return tuple.__class_getitem__(tuple(arguments[0]))
    raise TypeError(f"{callback} is no callback")


def _absolute(value: Any) -> Any:
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, list | tuple) and value and all(isinstance(item, Path) for item in value):
        return [item.absolute() for item in value]
    return value


def _what(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
