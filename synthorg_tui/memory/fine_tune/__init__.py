"""Fitting the embedder to the user's own memories: the settings; everything else loads when used.

The stages are in ``pipeline``, what a person or a tool asks for in ``memory.service``.
"""

from pathlib import PurePosixPath
from typing import Final, Self

from pydantic import field_validator, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject

_DRIVE: Final = 1


def inside_path(field: str, path: str) -> str:
    """Return ``path``; raises ``ValueError`` for what could lead out of where it is meant to be.

    Refused are ``..`` as a segment, backslashes, drive letters and null bytes: a path of a plan may
    come from an agent, and is later resolved in another process or on another machine.
    """
    if ".." in PurePosixPath(path).parts:
        reject(field, path, "must not contain '..' as a path segment")
    if "\\" in path:
        reject(field, path, "must not contain a backslash")
    if path[_DRIVE : _DRIVE + 1] == ":":
        reject(field, path, "must not begin with a drive letter")
    if "\0" in path:
        reject(field, path, "must not contain a null byte")
    return path


class EmbeddingFineTuneConfig(FrozenModel):
    """The tuned embedder in force; deploying a checkpoint sets it, rolling back unsets it.

    ``checkpoint_path`` is a folder or file of a checkpoint, relative to the data directory unless
    it is absolute, and ``base_model`` the fingerprint of the embedder it was trained for: with
    another one it isn't used. ``training_data_dir`` holds questions to train with besides those of
    the store. ``enabled`` needs the first two.
    """

    enabled: bool = False
    checkpoint_path: NotBlankStr | None = None
    base_model: NotBlankStr | None = None
    training_data_dir: NotBlankStr | None = None

    @field_validator("checkpoint_path", "training_data_dir")
    @classmethod
    def _validate_paths(cls, path: str | None) -> str | None:
        return None if path is None else inside_path("fine_tune", path)

    @model_validator(mode="after")
    def _validate_enabled(self) -> Self:
        for name in ("checkpoint_path", "base_model"):
            if self.enabled and getattr(self, name) is None:
                reject(name, None, f"{name} is required when fine_tune.enabled is true")
        return self
