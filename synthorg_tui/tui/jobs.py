"""Run work in the background of a screen and report it: jobs, toasts, and a throttle.

Every coroutine that a screen starts runs through ``run_job``, so that its errors are always shown,
and handling a key press never waits for the engine.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.widget import Widget

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.actions import key_of, use_keymap

TWICE: Final = 2.0
"""Seconds within which a second Ctrl-C quits."""
_TOGETHER: Final = 0.05
"""Seconds to wait before a call, so that requests in quick succession cause only one."""


class Throttle:
    """Calls a function shortly after it was requested, but at most once in ``seconds``."""

    def __init__(self, owner: MessagePump, act: Callable[[], None], seconds: float) -> None:
        self._owner = owner
        self._act = act
        self._seconds = seconds
        self._ran = -seconds
        self._timer: Timer | None = None

    def ask(self) -> None:
        """Request a call of the function; further requests until then have no effect."""
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
    """Show a toast in place of earlier ones; its text is made safe and isn't parsed as markup."""
    (owner if isinstance(owner, App) else owner.app).clear_notifications()
    owner.notify(safe_text(message), severity=severity, markup=False)


def error_toast(owner: Owner, error: DomainError) -> None:
    """Show a toast with the error's message and its remedy."""
    message = error.message if not error.remedy else f"{error.message.rstrip('.')}. {error.remedy}"
    toast(owner, message, severity="error")


def copy(owner: Owner, text: str) -> None:
    """Put a text on the clipboard; lone surrogates, which can't be encoded, become ``?``."""
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
    """Run a coroutine function as a Textual worker of a screen or of the app.

    With ``newest_only`` a job of the same ``group`` that still runs is cancelled first. An error
    that the job raises is passed to ``failed`` as a ``DomainError``, or shown in a toast if there
    is none. The coroutine is created only when the worker starts, so that a job cancelled before
    leaves none that was never awaited.
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


class Recount(Message):
    """A message that asks the app to count the pending approvals again."""


class InterruptibleApp(App[None]):
    """An app that Ctrl-C doesn't end at once, as many press it to copy: it says what does.

    A second Ctrl-C soon after the first quits. Who inherits sets ``_clock``.
    """

    _clock: Callable[[], float]
    """Seconds that only go up."""
    _interrupted = -inf

    def action_help_quit(self) -> None:
        """Say which key quits; quit at the second press within ``TWICE`` seconds."""
        before, self._interrupted = self._interrupted, self._clock()
        if self._interrupted - before < TWICE:
            self.call_later(self.run_action, "quit")
        else:
            toast(self, f"{key_of('app.quit')} quits, and so does Ctrl-C once more")

    def set_keymap(self, keymap: Mapping[str, str]) -> None:
        """Bind the keys that a person chose, and name them in texts from now on."""
        use_keymap(keymap)
        super().set_keymap(keymap)


def opening_error(error: Exception) -> DomainError:
    """Return what a person is told when the store can't be opened."""
    if isinstance(error, DomainError):
        return error
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return DomainError(what, remedy="Choose another directory with --data-dir.")
    message = f"The engine failed to open: {type(error).__name__}: {error}"
    return DomainError(message, remedy="Try synthorg-tui doctor.")
