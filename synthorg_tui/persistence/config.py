"""Settings of operational persistence."""

import os
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject, warn

POSTGRES: Final = "postgres"
BACKENDS: Final = ("duckdb", "sqlite", POSTGRES)
"""Accepted names; the second is the documented one, for the same database as the first."""
_OTHER_NAMES: Final = {"postgresql": POSTGRES}
_PLANNED: Final = frozenset({"mariadb"})
_SECTIONS: Final = frozenset({"sqlite", "postgresql"})
_SCHEMES: Final = ("postgresql://", "postgres://")
POOL_SIZE: Final = 10
MAX_POOL: Final = 100
IN_MEMORY: Final = ":memory:"
JOURNAL_LIMIT: Final = 67_108_864


class PersistenceConfig(FrozenModel):
    """Where operational data is kept: tasks, costs, checkpoints, settings and so on.

    An open engine keeps them in its data directory, in one file with the memories. ``path`` is of
    a database of its own, for programs that open one by ``create_backend``; ``:memory:`` is one
    that is gone once it is disconnected. ``backend`` may be ``sqlite``, the documented name, for
    what is DuckDB here. The documented sections ``sqlite:`` and ``postgresql:`` are read as if
    their values stood here.

    With ``backend: postgres`` all that the store's database holds, memories included, is on a
    server that other programs may use, too. Its address is ``url``, or what the environment has
    under the name ``url_env``, which keeps a password out of files. ``pool_size`` is how many
    connections one program opens at most.
    """

    backend: str = "duckdb"
    path: NotBlankStr | None = None
    wal_mode: bool = True
    journal_size_limit: int = Field(default=JOURNAL_LIMIT, ge=0)
    url: SecretStr | None = None
    url_env: NotBlankStr | None = None
    pool_size: int = Field(default=POOL_SIZE, ge=2, le=MAX_POOL)

    @property
    def is_postgres(self) -> bool:
        """Whether the store's database is on a PostgreSQL server."""
        return self.backend == POSTGRES

    def address(self) -> str:
        """Return the address of the server; raises ``ConfigError`` when the environment has none.

        It may hold a password.
        """
        if self.url is not None:
            return self.url.get_secret_value()
        name = self.url_env or ""
        address = os.environ.get(name, "")
        if not address.startswith(_SCHEMES):
            told = "isn't set" if not address else "isn't the address of a PostgreSQL database"
            raise ConfigError(
                f"the environment variable {name}, which persistence.url_env names, {told}",
                remedy=f"Set it to an address such as {_SCHEMES[0]}USER:PASSWORD@HOST/DATABASE.",
            )
        return address

    @model_validator(mode="before")
    @classmethod
    def _fold_documented_sections(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        folded = dict(values)
        for name in sorted(_SECTIONS & values.keys()):
            section = folded.pop(name)
            if not isinstance(section, dict):
                reject(f"persistence.{name}", "(not shown)", "must be a section of settings")
            if twice := sorted(section.keys() & folded.keys()):
                reject(f"persistence.{name}", twice, f"Set twice: {twice}")
            folded |= section
        return folded

    @field_validator("backend")
    @classmethod
    def _validate_backend(cls, backend: str) -> str:
        backend = _OTHER_NAMES.get(backend, backend)
        if backend not in BACKENDS:
            is_planned = backend in _PLANNED
            said = (
                f"Backend {backend!r} comes later" if is_planned else f"Unknown backend {backend!r}"
            )
            reject("persistence.backend", backend, f"{said}. Valid backends: {list(BACKENDS)}")
        if backend == "sqlite":
            warn("persistence.backend", backend, "the data is kept in DuckDB under this name, too")
        return backend

    @field_validator("url")
    @classmethod
    def _validate_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_SCHEMES):
            reject("persistence.url", "(not shown)", f"must begin with {' or '.join(_SCHEMES)}")
        return url

    @model_validator(mode="after")
    def _validate_address(self) -> Self:
        given = [name for name in ("url", "url_env") if getattr(self, name) is not None]
        if self.is_postgres and len(given) != 1:
            reason = "backend 'postgres' needs its address: set either url or url_env, not both"
            reject("persistence.url", given or None, reason)
        if given and not self.is_postgres:
            reason = f"only backend 'postgres' has an address, not {self.backend!r}"
            reject(f"persistence.{given[0]}", "(not shown)", reason)
        if self.is_postgres and self.path is not None:
            reason = "backend 'postgres' keeps its data on the server: leave path out"
            reject("persistence.path", self.path, reason)
        return self

    @field_validator("path")
    @classmethod
    def _validate_path(cls, path: str | None) -> str | None:
        if path is not None and any(
            ".." in kind(path).parts for kind in (PurePosixPath, PureWindowsPath)
        ):
            reject("persistence.path", path, "path must not contain '..'")
        return path

    @model_validator(mode="after")
    def _warn_of_what_has_no_meaning(self) -> Self:
        if not self.wal_mode:
            reason = "it has no meaning on DuckDB, which has a log always"
            warn("persistence.wal_mode", self.wal_mode, reason)
        if self.journal_size_limit != JOURNAL_LIMIT:
            reason = "it has no meaning on DuckDB, whose log is moved into the file at 16 MB"
            warn("persistence.journal_size_limit", self.journal_size_limit, reason)
        return self
