"""Shared type aliases and the base of every frozen model."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from synthorg_tui.core.paths import expand_home


def _reject_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


NotBlankStr = Annotated[str, StringConstraints(min_length=1), AfterValidator(_reject_blank)]
"""A string with at least one visible character; surrounding whitespace is kept."""


class FrozenModel(BaseModel):
    """Immutable model that refuses unknown fields, NaN and infinities.

    A field that is a model by default gets it by ``model_construct``: that builds no validator of
    its own, which the one around it contains anyway. Nothing validates defaults but the tests.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="forbid", defer_build=True)


HomePath = Annotated[Path, AfterValidator(expand_home)]
"""A path in settings; ``~`` is the home directory."""
