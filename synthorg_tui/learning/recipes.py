"""Recipes: how a run that went well was checked and delivered, as a lesson.

Only commands that passed after the last change are part of it, in their order. Its key is stored:
the same checks in the same project are the same lesson.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.models import Evidence, Lesson, LessonKind
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.roles import examines_code, shown_words
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords, grounded_lesson
from synthorg_tui.learning.phrases import joined
from synthorg_tui.learning.situations import program_words

_DELIVER = re.compile(r"git (?:commit|push)|gh pr|glab mr")
_MIN_CHECKS = 2
_ONCE = 0.45
"""The certainty of what one run shows: only further sessions make it a lesson."""
_MAX_STEPS = 8


@dataclass(frozen=True, slots=True)
class Recipe:
    """The checks that passed after a run's last change, and the commands that then delivered it.

    ``quality`` is 0 to 10: 5 for ending well, 2 for checks that passed last, 2 for delivery after
    them, 1 when no call failed at all. ``first`` and ``last`` are the calls that begin and end it.
    """

    checks: tuple[Step, ...]
    delivery: tuple[Step, ...]
    first: ToolCall
    last: ToolCall
    quality: float


def find_recipe(execution: Execution) -> Recipe | None:
    """Return the recipe of a run; ``None`` when there is nothing to learn from it.

    It must have ended normally, have no recoveries, and have passed at least two different checks.
    """
    if execution.outcome is not ExecutionOutcome.COMPLETED or execution.recoveries:
        return None
    calls = execution.calls[_last_edit(execution.calls) + 1 :]
    checks: dict[str, tuple[Step, ToolCall]] = {}
    delivery: dict[str, tuple[Step, ToolCall]] = {}
    for call in calls:
        if not call.is_shell or call.outcome is not CallOutcome.OK:
            continue
        for step in command_steps(call.arguments):
            if examines_code(step) and not delivery:
                checks.setdefault(step.intent, (step, call))
            elif _DELIVER.fullmatch(step.intent):
                delivery.setdefault(step.intent, (step, call))
    if len(checks) < _MIN_CHECKS:
        return None
    used = [*checks.values(), *delivery.values()][:_MAX_STEPS]
    quality = 5.0 + 2.0 + 2.0 * bool(delivery) + 1.0 * (not execution.failures)
    return Recipe(
        checks=tuple(step for step, _ in checks.values()),
        delivery=tuple(step for step, _ in delivery.values()),
        first=used[0][1],
        last=used[-1][1],
        quality=quality,
    )


def recipe_lesson(execution: Execution, recipe: Recipe) -> Lesson:
    """Return a recipe as a lesson, with this run as its only evidence."""
    project = one_line(safe_text(execution.project_name), 40) or "the project"
    checks = [f"`{_shown(step)}`" for step in recipe.checks]
    delivered = [f"`{safe_text(step.intent)}`" for step in recipe.delivery]
    intents = " ".join(step.intent for step in (*recipe.checks, *recipe.delivery))
    words = LessonWords(
        name=_name(recipe),
        title=_title(project, delivered),
        when=f"a change in {project} is finished and about to be committed",
        do=f"Run {joined(checks)} in this order and go on only when each of them passes.",
        why="A run that did so ended normally, and none of its checks had to be repeated.",
        steps=tuple(
            [f"Run {check}." for check in checks][:_MAX_STEPS]
            + [f"Then {delivery}." for delivery in delivered]
        ),
    )
    return grounded_lesson(
        execution,
        LessonKind.SUCCESS,
        f"success|{execution.agent_id}|{execution.project or ''}|{intents}",
        words,
        (_evidence(execution, recipe, checks),),
        certainty=_ONCE,
        tags=("success-derived", "checks"),
    )


def _name(recipe: Recipe) -> str:
    """The programs that check, and what they come before."""
    programs = dict.fromkeys(program_words(step.intent)[0] for step in recipe.checks)
    last = program_words(recipe.delivery[0].intent)[1] if recipe.delivery else "delivery"
    return "-".join((*list(programs)[:3], "before", last))


def _title(project: str, delivered: Sequence[str]) -> str:
    """What to do; the checks themselves are named below it."""
    before = f" before {delivered[0]}" if delivered else " before you deliver it"
    titles = (f"Run all checks of {project}{before}", f"Run all checks{before}")
    return next((title for title in titles if len(title) <= MAX_TITLE), "Run all checks first")


def _shown(step: Step) -> str:
    """The call without the files of this time."""
    words = [word for word in shown_words(step) if "/" not in word and word != "<path>"]
    return one_line(safe_text(" ".join(words)), 80) or safe_text(step.intent)


def _evidence(execution: Execution, recipe: Recipe, checks: Sequence[str]) -> Evidence:
    return Evidence(
        execution=execution.id,
        lines=str(execution.ref(recipe.first.call_line, recipe.last.last_line)),
        agent_id=execution.agent_id,
        resolved_by=one_line(safe_text(recipe.last.arguments), 400),
        between=tuple(check.strip("`") for check in checks),
        at=recipe.last.at or execution.ended_at,
        project=execution.project,
        reported=execution.is_reported,
    )


def _last_edit(calls: Sequence[ToolCall]) -> int:
    edits = [place for place, call in enumerate(calls) if call.changed_path is not None]
    return edits[-1] if edits else -1
