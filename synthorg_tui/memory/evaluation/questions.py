"""What an evaluation asks: questions with the memories that answer them, and where they are from.

A question is never made up here: each was asked, or says what happened, and a person or an agent
showed by what they did which memories answer it. Its text is redacted already, like all that is
stored.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from synthorg_tui.core.enums import MemoryCategory


class RecallTask(StrEnum):
    """What sort of memory a question is about, by LMEB's categories of tasks."""

    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    SEMANTIC = "semantic"
    DIALOGUE = "dialogue"


RECALL_TASKS: Final[Mapping[MemoryCategory, RecallTask]] = {
    MemoryCategory.EPISODIC: RecallTask.EPISODIC,
    MemoryCategory.PROCEDURAL: RecallTask.PROCEDURAL,
    MemoryCategory.SEMANTIC: RecallTask.SEMANTIC,
    MemoryCategory.SOCIAL: RecallTask.DIALOGUE,
}
"""The task of each category of memories; working memories are in an agent's context already."""


class QuestionSource(StrEnum):
    """Where a question comes from."""

    SCENARIO = "scenario"
    SEARCH = "search"
    FAILURE = "failure"
    APPROVAL = "approval"
    PIN = "pin"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A text that is asked for an agent, and the ids of the memories that answer it.

    ``relevant`` is never empty. ``session`` names where the question came up (a session's id, a
    scenario's name, a conversation of a file), so that a split keeps those of one place together;
    empty where nothing is known of it. ``project`` is the folder in which it was asked, ``None``
    where all memories were seen.
    """

    text: str
    agent_id: str
    relevant: frozenset[str]
    category: RecallTask
    source: QuestionSource
    session: str = ""
    project: str | None = None


def task_of(categories: Iterable[MemoryCategory]) -> RecallTask | None:
    """Return the task that most of a question's memories belong to, ``None`` without any.

    With as many of each the one declared first is taken.
    """
    tasks = [RECALL_TASKS[category] for category in categories if category in RECALL_TASKS]
    return max(RecallTask, key=tasks.count) if tasks else None


def distinct(questions: Collection[EvalQuestion]) -> tuple[EvalQuestion, ...]:
    """Return the questions without repetitions: the same text of the same agent is asked once.

    What answered it at any time counts; all else is of the first time that it came up.
    """
    first: dict[tuple[str, str], EvalQuestion] = {}
    relevant: dict[tuple[str, str], frozenset[str]] = {}
    for question in questions:
        key = (question.agent_id, " ".join(question.text.casefold().split()))
        first.setdefault(key, question)
        relevant[key] = relevant.get(key, frozenset()) | question.relevant
    return tuple(replace(known, relevant=relevant[key]) for key, known in first.items())
