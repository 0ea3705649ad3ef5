"""How configuration models say that a value is wrong: one log record, then an error."""

import logging
from typing import NoReturn

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
