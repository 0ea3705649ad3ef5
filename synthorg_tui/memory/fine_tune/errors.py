"""Errors of fine-tuning and its checkpoints, each with the code that tools answer with."""

from typing import ClassVar

from synthorg_tui.memory.errors import MemoryError


class FineTuneError(MemoryError):
    """Base class of errors of fine-tuning; ``domain_code`` tells tools what kind it is."""

    domain_code: ClassVar[str] = "invalid_argument"
    is_retryable: ClassVar[bool] = False


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


class FineTuneCancelledError(FineTuneError):
    """A run was cancelled; what its stages made is kept, and it can be resumed."""

    domain_code = "conflict"
    exit_code = 130


class FineTuneActiveError(FineTuneError, RuntimeError):
    """Another run is active; there is one at a time."""

    domain_code = "conflict"


class FineTuneRunNotFoundError(FineTuneError):
    """No run has the given id."""

    domain_code = "not_found"


class FineTuneRunNotResumableError(FineTuneError):
    """The run is complete, so there is nothing to go on with."""

    domain_code = "conflict"


class TooFewPairsError(FineTuneError):
    """There are too few questions with known answers: training would learn them by heart."""

    domain_code = "conflict"


class CheckpointNotFoundError(FineTuneError):
    """No checkpoint has the given id."""

    domain_code = "not_found"


class CheckpointRefusedError(FineTuneError):
    """The checkpoint isn't surely better on questions it never saw; the message has the figures."""

    domain_code = "conflict"


class CheckpointDamagedError(FineTuneError):
    """A checkpoint's file is missing, or isn't the one that was written."""

    domain_code = "conflict"


class CheckpointActiveError(FineTuneError):
    """The checkpoint is in force and can't be deleted."""

    domain_code = "conflict"


class CheckpointRollbackUnavailableError(FineTuneError):
    """The checkpoint was never deployed, so there is nothing it replaced."""

    domain_code = "conflict"


class CheckpointRollbackCorruptError(FineTuneError):
    """What was noted of the settings before the checkpoint can't be read."""

    domain_code = "conflict"
