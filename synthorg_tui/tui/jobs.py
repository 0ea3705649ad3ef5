"""Work that runs beside a screen: jobs, the toasts that report them, and a throttle.

Every coroutine that a screen starts runs through ``run_job``, so that an error is shown wherever
it comes from, and nothing of the engine is awaited where keys are handled.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Any, Final

from textual.app import App
from textual.message_pump import MessagePump
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.widget import Widget

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text

_TOGETHER: Final = 0.05
"""What happens within so many seconds is shown at once."""


class Throttle:
    """Runs an act soon after it was asked for, but not twice within ``seconds``."""

    def __init__(self, owner: MessagePump, act: Callable[[], None], seconds: float) -> None:
        self._owner = owner
        self._act = act
        self._seconds = seconds
        self._ran = -seconds
        self._timer: Timer | None = None

    def ask(self) -> None:
        """Run it soon; asking meanwhile adds nothing."""
        if self._timer is None:
            rest = self._ran + self._seconds - monotonic()
            wait = max(rest, min(_TOGETHER, self._seconds))
            self._timer = self._owner.set_timer(wait, self._run)

    def _run(self) -> None:
        self._timer = None
        self._ran = monotonic()
        self._act()


Owner = Widget | App[Any]


def toast(owner: Owner, message: str, *, severity: SeverityLevel = "information") -> None:
    """A toast in place of those before; its text is made safe and is never markup."""
    (owner if isinstance(owner, App) else owner.app).clear_notifications()
    owner.notify(safe_text(message), severity=severity, markup=False)


def error_toast(owner: Owner, error: DomainError) -> None:
    """A toast of what went wrong and what to do."""
    toast(owner, f"{error.message} {error.remedy}".strip(), severity="error")


def copy(owner: Owner, text: str) -> None:
    """Put a text on the clipboard as it is; a lone surrogate, which no encoding has, as ``?``."""
    app = owner if isinstance(owner, App) else owner.app
    app.copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))


def run_job(
    owner: Owner,
    job: Callable[[], Awaitable[None]],
    *,
    group: str,
    newest_only: bool = True,
    failed: Callable[[DomainError], None] | None = None,
) -> None:
    """Run a job of a screen; ``newest_only`` cancels the one before it in the group.

    An error that the job lets through goes to ``failed``, or is shown in a toast without one;
    it is never swallowed. The job is made when it starts, so that one cancelled before leaves
    nothing unawaited.
    """
    fail = failed or partial(error_toast, owner)

    async def run() -> None:
        try:
            await job()
        except DomainError as error:
            fail(error)
        except Exception as error:  # the last stop of any job: the app goes on
            fail(DomainError(f"{type(error).__name__}: {error}"))

    owner.run_worker(run, group=group, exclusive=newest_only, exit_on_error=False)  # type: ignore[arg-type]
