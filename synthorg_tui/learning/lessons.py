"""Builds a lesson from the words that code found for one occurrence.

Every capture strategy ends here, so that lessons of all kinds have the same parts and limits. What
the words are is for the strategies; how certain a lesson is, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.models import (
    WORDED_FIELDS,
    Author,
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.output_lines import one_line

MAX_TITLE = 70
REPORTED_CERTAINTY = 0.5
"""A lesson that was only reported is at most so certain, however often: as much as the plainest
recorded recovery. An agent can report what never happened as often as it likes, and under as many
names, so the number of reports says nothing."""


_CODE = re.compile(r"`([^`]*)`")


def is_title(text: str) -> bool:
    """Whether it is a line of at most ``MAX_TITLE`` characters with each of its commands whole."""
    is_whole = "``" not in text and "…" not in text and text.count("`") % 2 == 0
    return 0 < len(text) <= MAX_TITLE and is_whole and text == one_line(safe_text(text), MAX_TITLE)


def fit_title(text: str) -> str:
    """Return a title that fits: of commands that make it too long only what they are called.

    What is too long even so is cut between words, without the marks of commands.
    """
    text = one_line(safe_text(text), MAX_TITLE * 10)
    short = _CODE.sub(lambda found: f"`{' '.join(found[1].split()[:2])}`", text)
    bare = one_line(text.replace("`", ""), MAX_TITLE).rstrip("…").rstrip()
    return next(title for title in (text, short, bare) if is_title(title) or title is bare)


@dataclass(frozen=True, slots=True)
class LessonWords:
    """The words of a lesson.

    ``name`` is two to five words for the situation, such as ``git-push-no-upstream``; ``title`` an
    instruction of at most ``MAX_TITLE`` characters. ``when`` is the situation, as it goes on after
    "Use when"; ``do`` names the exact commands and explains their placeholders, ``why`` the reason,
    and ``check`` how to tell that it worked. ``steps`` are for what takes several commands.
    """

    name: str
    title: str
    when: str
    do: str
    why: str
    check: str = ""
    steps: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, object]:
        """The words by the fields of a proposal."""
        return {
            "discovery": fit_title(self.title),
            "condition": self.when,
            "action": self.do,
            "rationale": self.why,
            "execution_steps": self.steps,
            "check": self.check,
            "name": self.name,
        }


def grounded_lesson(
    execution: Execution,
    kind: LessonKind,
    key: str,
    words: LessonWords,
    evidence: Sequence[Evidence],
    *,
    certainty: float,
    tags: Sequence[str],
) -> Lesson:
    """Return the lesson of one run in the words that code found.

    ``key`` tells it from all others for good, whatever its words. ``certainty`` is in [0, 1]; what
    the agent only reported is at most as certain as ``REPORTED_CERTAINTY``.
    """
    most = REPORTED_CERTAINTY if execution.is_reported else 1.0
    confidence = min(certainty, most)
    facts = {**words.fields, "confidence": confidence, "tags": tuple(tags)}
    proposal = ProceduralMemoryProposal.model_validate(facts)
    author = Author.REPORTED if execution.is_reported else Author.EVIDENCE
    return Lesson(
        key=key,
        kind=kind,
        agent_id=execution.agent_id,
        task_id=execution.id,
        proposal=proposal,
        grounded=proposal,
        authors=dict.fromkeys(WORDED_FIELDS, author),
        evidence=tuple(evidence),
    )
