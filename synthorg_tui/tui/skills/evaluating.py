"""Whether a skill helps, as one calm block beside a proposal and beside a skill.

What isn't known of the present text is looked at in the background when somebody looks first, as
far as that needs no agent; a replay is started at a terminal. Nothing here decides or scores.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import moment
from synthorg_tui.tui.base.lines import Line, line, one_line, rule
from synthorg_tui.tui.jobs import Owner, error_toast, run_job

if TYPE_CHECKING:
    from synthorg_tui.evaluation.models import SkillEvaluation

TITLE: Final = "Does it help"
ABOUT_SKILLS: Final = frozenset({"lesson", "promotion", "conflict", "file_change"})
"""Kinds of items that propose a skill."""


class EvaluationLook:
    """What is known of skills and proposals by path or id, looked up for an owner's block.

    Args:
        owner: The screen that shows the block.
        changed: Called when there is something new to draw.
        now: The present time.
        action: Id of the action that looks again.
    """

    def __init__(
        self, owner: Owner, changed: Callable[[], None], now: Callable[[], datetime], action: str
    ) -> None:
        self._owner = owner
        self._changed = changed
        self._now = now
        self._action = action
        self._known: dict[str, Sequence[SkillEvaluation]] = {}
        self._looking = ""
        self._problem: dict[str, str] = {}

    def look(
        self,
        named: str,
        ask: "Callable[..., Awaitable[Sequence[SkillEvaluation]]]",
        *,
        anew: bool = False,
    ) -> None:
        """Ask an adapter in the background; with ``anew`` a failure is told in a toast, too."""
        self._looking = named
        self._problem.pop(named, None)

        async def run() -> None:
            self._known[named] = await ask(named, anew=anew)
            self._end(named)

        def failed(error: DomainError) -> None:
            self._problem[named] = error.message
            self._end(named)
            if anew:
                error_toast(self._owner, error)

        run_job(self._owner, run, group="evaluation", failed=failed)
        if anew:
            self._changed()

    def lines(self, named: object) -> list[Line]:
        """Render the block about a skill or a proposal; empty before anything was asked of it."""
        now, key = self._now(), key_of(self._action)
        if not isinstance(named, str):
            return []
        if named == self._looking:
            return [rule(TITLE), line(("looking …", "faint"))]
        if problem := self._problem.get(named):
            return [rule(TITLE, f"{key} looks again"), line((one_line(problem), "warn"))]
        known = self._known.get(named)
        return evaluation_lines(known, now, key) if known else []

    def _end(self, named: str) -> None:
        if self._looking == named:
            self._looking = ""
        self._changed()


def evaluation_lines(known: "Sequence[SkillEvaluation]", now: datetime, key: str) -> list[Line]:
    """Render what is known of whether a skill helps: of its present text, then of older ones."""
    from synthorg_tui.evaluation.models import help_words

    lines = [rule(TITLE, f"{key} looks again")]
    present = [each for each in known if each.is_current]
    if words := help_words(present):
        told = line((one_line(words), "text"))
        lines.append(told.add(f"  {_when(present, now)}", "faint"))
    older = [each for each in known if not each.is_current]
    if words := help_words(older):
        said = line(("of an older text: ", "muted"), (one_line(words), "muted"))
        lines.append(said.add(f"  {_when(older, now)}", "faint"))
    return lines


def _when(known: "Sequence[SkillEvaluation]", now: datetime) -> str:
    """When it was last looked at."""
    return moment(max(each.made_at for each in known), now).partition(" · ")[0]
