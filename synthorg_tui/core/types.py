"""Types that models share, and how a configuration model says that a value is wrong.

``reject`` and ``warn`` write one log record each, so that an error in settings is never only text.
"""

import logging
from pathlib import Path
from typing import Annotated, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from synthorg_tui.core.paths import expand_home


def _reject_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


NotBlankStr = Annotated[str, StringConstraints(min_length=1), AfterValidator(_reject_blank)]
"""A string with at least one visible character; surrounding whitespace is kept."""


class FrozenModel(BaseModel):
    """Immutable pydantic model that refuses unknown fields, NaN and infinities.

    A field whose default is another model gets it by ``model_construct``, which builds no second
    validator and so imports faster. Defaults are therefore not validated at run time; tests do
    that.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="forbid", defer_build=True)


HomePath = Annotated[Path, AfterValidator(expand_home)]
"""A path in settings; ``~`` is the home directory."""


LOGGER_NAME = "synthorg_tui.config"
INVALID = "config.validation_failed"
SUSPECT = "config.validation_warning"

_log = logging.getLogger(LOGGER_NAME)
_log.addHandler(logging.NullHandler())  # silent unless the program wants to show them


def reject(field: str, value: object, reason: str) -> NoReturn:
    """Log that a setting's value is invalid and raise ``ValueError(reason)``.

    For pydantic validators: pydantic turns the ``ValueError`` into a validation error.
    """
    _record(INVALID, field, value, reason)
    raise ValueError(reason)


def warn(field: str, value: object, reason: str) -> None:
    """Log a warning that a setting's value is accepted but doesn't have the effect it suggests."""
    _record(SUSPECT, field, value, reason)


def _record(event: str, field: str, value: object, reason: str) -> None:
    details = {"event": event, "field": field, "value": value, "reason": reason}
    _log.warning("%s: %s = %r: %s", event, field, value, reason, extra=details)
