"""What is kept of a run, in four lines."""

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.distillation import distillation_request


def test_it_is_four_lines_with_each_tool_once_and_all_calls_counted() -> None:
    run = distillation_request(
        "t1", "completed", turns=3, tokens=120, tools=("b", "a", "b", "a"), memory_tools=("m",)
    )
    assert run.content.splitlines() == [
        "Task ID: t1",
        "Outcome: completed",
        "Trajectory: 3 turns, 120 tokens; tools: a, b; 4 tool calls total",
        "Memory tool invocations: m",
    ]


def test_a_run_without_calls_says_so() -> None:
    text = distillation_request("t1", "failed", turns=1).content
    assert "1 turn, 0 tokens; tools: none; 0 tool calls total" in text
    assert text.endswith("Memory tool invocations: none")


def test_it_is_stored_as_an_episode_that_is_told_by_its_tag() -> None:
    request = distillation_request("t1", "failed", turns=1)
    assert request.category is MemoryCategory.EPISODIC
    assert (request.metadata.tags, request.metadata.source) == (("distillation",), "distillation")
