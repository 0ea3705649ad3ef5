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
    """Immutable model that refuses unknown fields, NaN and infinities.

    A field that is a model by default gets it by ``model_construct``: that builds no validator of
    its own, which the one around it contains anyway. Nothing validates defaults but the tests.
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
    """Log the finding and raise ``ValueError(reason)``, which pydantic turns into its own error."""
    _record(INVALID, field, value, reason)
    raise ValueError(reason)


def warn(field: str, value: object, reason: str) -> None:
    """Log that ``value`` is accepted but does not do what it seems to."""
    _record(SUSPECT, field, value, reason)


def _record(event: str, field: str, value: object, reason: str) -> None:
    details = {"event": event, "field": field, "value": value, "reason": reason}
    _log.warning("%s: %s = %r: %s", event, field, value, reason, extra=details)
