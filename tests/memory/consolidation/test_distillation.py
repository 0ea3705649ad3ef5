"""What is kept of a run, in four lines."""

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome, MemoryCategory
from synthorg_tui.executions.models import Execution, ExecutionTokens, ToolCall, Turn
from synthorg_tui.memory.consolidation.distillation import DistillationRequest, distillation_of


def test_it_is_four_lines_with_each_tool_once_and_all_calls_counted() -> None:
    run = DistillationRequest(
        "t1", "completed", turns=3, tokens=120, tools=("b", "a", "b", "a"), memory_tools=("m",)
    )
    assert run.text().splitlines() == [
        "Task ID: t1",
        "Outcome: completed",
        "Trajectory: 3 turns, 120 tokens; tools: a, b; 4 tool calls total",
        "Memory tool invocations: m",
    ]


def test_a_run_without_calls_says_so() -> None:
    text = DistillationRequest("t1", "failed", turns=1).text()
    assert "1 turn, 0 tokens; tools: none; 0 tool calls total" in text
    assert text.endswith("Memory tool invocations: none")


def test_it_is_stored_as_an_episode_that_is_told_by_its_tag() -> None:
    request = DistillationRequest("t1", "failed", turns=1).request()
    assert request.category is MemoryCategory.EPISODIC
    assert (request.metadata.tags, request.metadata.source) == (("distillation",), "distillation")


def test_it_is_made_of_a_recorded_run() -> None:
    def call(number: int, tool: str) -> ToolCall:
        return ToolCall(
            id=f"c{number}",
            tool=tool,
            intent=tool,
            arguments="",
            outcome=CallOutcome.OK,
            call_line=number,
        )

    run = Execution(
        id="codex:s1",
        reader="codex",
        session_id="s1",
        agent_id="codex",
        outcome=ExecutionOutcome.COMPLETED,
        turns=(Turn(role="user", text="hi", first_line=1, last_line=1),),
        calls=(call(1, "Bash"), call(2, "search_memory")),
        tokens=ExecutionTokens(input=5, output=2),
    )
    made = distillation_of(run)
    assert (made.task_id, made.outcome, made.turns, made.tokens) == ("s1", "completed", 1, 7)
    assert (made.tools, made.memory_tools) == (("Bash", "search_memory"), ("search_memory",))
