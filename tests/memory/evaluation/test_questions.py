"""What an evaluation asks."""

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.evaluation.questions import (
    EvalQuestion,
    QuestionSource,
    RecallTask,
    distinct,
    task_of,
)


def question(text: str, *relevant: str, agent: str = "coder") -> EvalQuestion:
    return EvalQuestion(
        text, agent, frozenset(relevant), RecallTask.EPISODIC, QuestionSource.SCENARIO
    )


def test_social_memories_are_asked_for_as_dialogue() -> None:
    assert task_of([MemoryCategory.SOCIAL]) is RecallTask.DIALOGUE


def test_the_task_is_that_of_most_memories() -> None:
    assert (
        task_of([MemoryCategory.EPISODIC, MemoryCategory.PROCEDURAL, MemoryCategory.PROCEDURAL])
        is RecallTask.PROCEDURAL
    )


def test_working_memories_belong_to_no_task() -> None:
    assert task_of([MemoryCategory.WORKING]) is None
    assert task_of([]) is None


def test_the_same_text_is_asked_once_and_all_that_answered_it_counts() -> None:
    (only,) = distinct([question("How to  push?", "a"), question("how to push?", "b")])
    assert only.text == "How to  push?"
    assert only.relevant == {"a", "b"}


def test_the_same_text_of_another_agent_is_another_question() -> None:
    assert len(distinct([question("x", "a"), question("x", "a", agent="tester")])) == 2
