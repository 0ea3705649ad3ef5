"""Errors of fine-tuning and its checkpoints, each with the code that tools answer with."""

from typing import ClassVar

from synthorg_tui.memory.errors import MemoryError


class FineTuneError(MemoryError):
    """Base class of errors of fine-tuning; ``domain_code`` tells tools what kind it is."""

    domain_code: ClassVar[str] = "invalid_argument"
    is_retryable: ClassVar[bool] = False


class FineTuneConflictError(FineTuneError):
    """Base class of what can't be done now: something has to be done, or to end, before."""

    domain_code = "conflict"


class BackendUnsupportedError(FineTuneError):
    """What is configured lacks a part that the operation needs; ``reason`` says which.

    Raises ``ValueError`` for a blank reason.
    """

    __slots__ = ("_reason",)
    domain_code = "not_supported"

    def __init__(self, reason: str, *, remedy: str = "") -> None:
        if not reason.strip():
            raise ValueError("a reason is required")
        super().__init__(reason, remedy=remedy)
        self._reason = reason

    @property
    def reason(self) -> str:
        """Which part is missing; it never changes."""
        return self._reason


class FineTuneDependencyError(FineTuneError):
    """The libraries that this kind of training needs aren't installed."""

    domain_code = "not_supported"


class FineTuneCancelledError(FineTuneConflictError):
    """A run was cancelled; what its stages made is kept, and it can be resumed."""

    exit_code = 130


class FineTuneActiveError(FineTuneConflictError, RuntimeError):
    """Another run is active; there is one at a time."""


class FineTuneRunNotFoundError(FineTuneError):
    """No run has the given id."""

    domain_code = "not_found"


class FineTuneRunNotResumableError(FineTuneConflictError):
    """The run is complete, so there is nothing to go on with."""


class TooFewPairsError(FineTuneConflictError):
    """There are too few questions with known answers: training would learn them by heart."""


class CheckpointNotFoundError(FineTuneError):
    """No checkpoint has the given id."""

    domain_code = "not_found"


class CheckpointRefusedError(FineTuneConflictError):
    """The checkpoint isn't surely better on questions it never saw; the message has the figures."""


class CheckpointDamagedError(FineTuneConflictError):
    """A checkpoint's file is missing, or isn't the one that was written."""


class CheckpointActiveError(FineTuneConflictError):
    """The checkpoint is in force and can't be deleted."""


class CheckpointRollbackUnavailableError(FineTuneConflictError):
    """The checkpoint was never deployed, so there is nothing it replaced."""


class CheckpointRollbackCorruptError(FineTuneConflictError):
    """What was noted of the settings before the checkpoint can't be read."""
