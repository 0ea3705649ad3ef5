"""Settings of operational persistence."""

from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from pydantic import Field, field_validator, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject, warn

BACKENDS: Final = ("duckdb", "sqlite")
"""Accepted names; the second is the documented one, for the same database."""
_PLANNED: Final = frozenset({"postgres", "postgresql", "mariadb"})
IN_MEMORY: Final = ":memory:"
JOURNAL_LIMIT: Final = 67_108_864


class PersistenceConfig(FrozenModel):
    """Where operational data is kept: tasks, costs, checkpoints, settings and so on.

    An open engine keeps them in its data directory, in one file with the memories. ``path`` is of
    a database of its own, for programs that open one by ``create_backend``; ``:memory:`` is one
    that is gone once it is disconnected. ``backend`` may be ``sqlite``, the documented name, for
    what is DuckDB here. The documented section ``sqlite:`` is read as if its values stood here.
    """

    backend: str = "duckdb"
    path: NotBlankStr | None = None
    wal_mode: bool = True
    journal_size_limit: int = Field(default=JOURNAL_LIMIT, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _fold_documented_section(cls, values: object) -> object:
        if not isinstance(values, dict) or not isinstance(values.get("sqlite"), dict):
            return values
        section = values["sqlite"]
        twice = sorted(set(section) & set(values))
        if twice:
            reject("persistence.sqlite", twice, f"Set twice: {twice}")
        return {name: value for name, value in values.items() if name != "sqlite"} | section

    @field_validator("backend")
    @classmethod
    def _validate_backend(cls, backend: str) -> str:
        if backend in _PLANNED:
            reason = f"Backend {backend!r} comes later. Valid backends: {list(BACKENDS)}"
            reject("persistence.backend", backend, reason)
        if backend not in BACKENDS:
            reason = f"Unknown backend {backend!r}. Valid backends: {list(BACKENDS)}"
            reject("persistence.backend", backend, reason)
        if backend == "sqlite":
            warn("persistence.backend", backend, "the data is kept in DuckDB under this name, too")
        return backend

    @field_validator("path")
    @classmethod
    def _validate_path(cls, path: str | None) -> str | None:
        if path is not None and any(
            ".." in kind(path).parts for kind in (PurePosixPath, PureWindowsPath)
        ):
            reject("persistence.path", path, "path must not contain '..'")
        return path

    @field_validator("wal_mode")
    @classmethod
    def _warn_of_wal_mode(cls, on: bool) -> bool:
        if not on:
            warn("persistence.wal_mode", on, "it has no meaning on DuckDB, which has a log always")
        return on

    @field_validator("journal_size_limit")
    @classmethod
    def _warn_of_limit(cls, limit: int) -> int:
        if limit != JOURNAL_LIMIT:
            reason = "it has no meaning on DuckDB, whose log is moved into the file at 16 MB"
            warn("persistence.journal_size_limit", limit, reason)
        return limit
