"""The controlling terminal: where the command line asks a person, and nobody else.

A coding agent has a shell, so neither arguments nor standard input can decide anything. What an
agent runs has no controlling terminal, or carries the marks of the agent in its environment. An
agent that makes itself a terminal and hides its marks can't be told from a person:
``approvals.allow_cli`` closes the command line to decisions altogether.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from synthorg_tui.approvals import ApprovalsConfig
from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.approvals.person import DECIDE_YOURSELF, Person, require_no_agent, user_name
from synthorg_tui.cli.errors import DeclinedError
from synthorg_tui.core.text import safe_text

_DEVICE: Final = "/dev/tty"
_ANSWER_BYTES: Final = 1024


class Terminal:
    """The controlling terminal with the person at it, even if the standard streams are redirected.

    ``controlling_terminal`` opens one.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.person = Person("terminal", user_name())

    def ask(self, question: str) -> str:
        """Print the question and return the answer, without spaces around it.

        Input typed before the question is discarded. The answer is empty at the end of input.
        Ctrl-C raises ``KeyboardInterrupt`` at once, inside an event loop too.
        """
        import termios

        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            # What was typed or pasted before the question can't be an answer to it.
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
            os.write(self._descriptor, f"{safe_text(question)} ".encode("utf-8", "replace"))
            answer = os.read(self._descriptor, _ANSWER_BYTES)
        finally:
            signal.signal(signal.SIGINT, previous)
        return answer.decode("utf-8", "replace").strip()

    def agree(self, question: str) -> None:
        """Ask for a yes; raises ``DeclinedError`` for anything else."""
        if self.ask(f"{question} [y/N]").lower() not in ("y", "yes"):
            raise DeclinedError("nothing was changed")


@contextmanager
def controlling_terminal(*, environ: Mapping[str, str] = os.environ) -> Iterator[Terminal]:
    """Open the controlling terminal for the length of a ``with``.

    Raises ``DecisionRefusedError`` inside a known agent's environment, for a process without a
    controlling terminal, and for one in the background.
    """
    require_no_agent(environ)
    try:
        descriptor = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise DecisionRefusedError(
            "there is no terminal to ask a person at", remedy=DECIDE_YOURSELF
        ) from None
    try:
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            raise DecisionRefusedError(
                "it runs in the background, where nobody can answer", remedy=DECIDE_YOURSELF
            )
        yield Terminal(descriptor)
    finally:
        os.close(descriptor)


def require_open_to_decisions(approvals: ApprovalsConfig) -> None:
    """Raise ``DecisionRefusedError`` if the settings forbid decisions on the command line."""
    if not approvals.allow_cli:
        raise DecisionRefusedError(
            "approvals.allow_cli is off: nothing is decided on the command line",
            remedy="Decide in the app.",
        )


@contextmanager
def deciding_person(approvals: ApprovalsConfig) -> Iterator[Terminal]:
    """Open the controlling terminal where the settings allow decisions on the command line."""
    require_open_to_decisions(approvals)
    with controlling_terminal() as terminal:
        yield terminal
