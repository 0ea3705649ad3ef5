"""Work that runs beside the screen, and the toasts that tell of it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from textual.app import App
from textual.notifications import SeverityLevel
from textual.widget import Widget

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text

Owner = Widget | App[Any]


def say(owner: Owner, message: str, *, severity: SeverityLevel = "information") -> None:
    """A toast in place of those before; its text is made safe and is never markup."""
    (owner if isinstance(owner, App) else owner.app).clear_notifications()
    owner.notify(safe_text(message), severity=severity, markup=False)


def tell(owner: Owner, error: DomainError) -> None:
    """A toast of what went wrong and what to do."""
    say(owner, f"{error.message} {error.remedy}".strip(), severity="error")


def copy(owner: Owner, text: str) -> None:
    """Put a text on the clipboard as it is; a lone surrogate, which no encoding has, as ``?``."""
    app = owner if isinstance(owner, App) else owner.app
    app.copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))


def start(
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
    fail = failed or partial(tell, owner)

    async def told() -> None:
        try:
            await job()
        except DomainError as error:
            fail(error)
        except Exception as error:  # the last stop of any job: the app goes on
            fail(DomainError(f"{type(error).__name__}: {error}"))

    owner.run_worker(told, group=group, exclusive=newest_only, exit_on_error=False)  # type: ignore[arg-type]
