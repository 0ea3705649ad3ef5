"""A session as a conversation: entries in the order of lines, and each line in one of them."""

import json
import subprocess
import sys

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.conversation import EntryKind, StartedSession, conversation_of
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from tests.tables import rows

CUT = "first part" * 30 + "\n… [cut] …\nlast part"


def turn(line: int, text: str, role: str = "user") -> Turn:
    return Turn(role=role, text=text, first_line=line, last_line=line)


def call(
    line: int,
    result: int | None = None,
    tool: str = "Bash",
    arguments: str = "git push",
    output: str = "",
    intent: str = "git push",
    outcome: CallOutcome = CallOutcome.OK,
    exit_code: int | None = None,
) -> ToolCall:
    return ToolCall(
        id=f"c{line}",
        tool=tool,
        intent=intent,
        arguments=arguments,
        outcome=outcome,
        output=output,
        exit_code=exit_code,
        call_line=line,
        result_line=result,
    )


def execution(*parts: Turn | ToolCall, lines: int = 20) -> Execution:
    return Execution(
        id="claude_code:s1",
        reader="claude_code",
        session_id="s1",
        agent_id="a",
        project="/p",
        turns=tuple(each for each in parts if isinstance(each, Turn)),
        calls=tuple(each for each in parts if isinstance(each, ToolCall)),
        line_count=lines,
    )


def test_entries_are_in_the_order_of_lines_with_what_is_between_folded() -> None:
    told = conversation_of(
        execution(turn(3, "Push it"), call(5, 7), turn(9, "Done", "assistant"), lines=12)
    )
    assert [(e.kind.value, e.first_line, e.last_line, e.count) for e in told.entries] == [
        ("folded", 1, 2, 2),
        ("said", 3, 3, 1),
        ("folded", 4, 4, 1),
        ("call", 5, 7, 1),
        ("folded", 8, 8, 1),
        ("answered", 9, 9, 1),
        ("folded", 10, 12, 3),
    ]
    assert told.entries[0].head == "2 hook and bookkeeping records"
    assert told.entries[2].head == "1 hook or bookkeeping record"


def test_every_line_is_in_the_entry_that_is_about_it() -> None:
    told = conversation_of(execution(turn(3, "Both"), call(5, 9), call(6, 8), lines=12))
    starts = {line: told.entries[told.entry_at(line)].first_line for line in range(1, 13)}
    assert starts == {1: 1, 2: 1, 3: 3, 4: 4, 5: 5, 6: 6, 7: 6, 8: 6, 9: 5, 10: 10, 11: 10, 12: 10}
    assert told.entry_at(0) == 0
    assert told.entry_at(99) == len(told.entries) - 1


def test_what_is_recorded_while_calls_run_is_theirs() -> None:
    told = conversation_of(execution(call(1, 9), call(3, 5), turn(11, "Go on"), lines=13))
    assert [(e.kind.value, e.first_line, e.last_line) for e in told.entries] == [
        ("call", 1, 9),
        ("call", 3, 5),
        ("folded", 10, 10),
        ("said", 11, 11),
        ("folded", 12, 13),
    ]
    told = conversation_of(execution(call(1, 9), turn(3, "Meanwhile"), lines=9))
    assert [(e.kind.value, e.first_line, e.last_line) for e in told.entries] == [
        ("call", 1, 9),
        ("said", 3, 3),
        ("folded", 4, 8),
    ]
    assert told.entry_at(6) == 2
    assert told.entry_at(2) == 0


def test_a_session_without_lines_has_no_entries() -> None:
    assert conversation_of(execution(lines=0)).entries == ()


@rows(
    ("outcome", "code", "output", "told"),
    [
        (CallOutcome.OK, 0, "fine", "ok"),
        (
            CallOutcome.FAILED,
            128,
            "noise\nfatal: no upstream branch",
            "failed, exit code 128: no upstream branch",
        ),
        (CallOutcome.FAILED, None, "", "failed"),
        (CallOutcome.DENIED_BY_USER, None, "no", "denied"),
        (CallOutcome.BLOCKED_BY_HOOK, None, "no", "blocked"),
        (CallOutcome.CANCELLED_WITH_SIBLING, None, "no", "cancelled"),
        (CallOutcome.UNKNOWN, None, "", "unknown"),
    ],
)
def test_a_call_says_how_it_ended(
    outcome: CallOutcome, code: int | None, output: str, told: str
) -> None:
    (entry,) = conversation_of(
        execution(call(1, outcome=outcome, exit_code=code, output=output), lines=1)
    ).entries
    assert entry.told == told
    assert entry.body == output


@rows(
    ("tool", "arguments", "intent", "head"),
    [
        ("Bash", "git push\n  origin main", "git push", "Bash git push origin main"),
        ("Edit", '{"file_path":"/p/src/a.py"}', "edit /p/src/a.py", "Edit src/a.py"),
        ("mcp__x__find", '{"limit":3,"query":"the words"}', "mcp__x__find", "the words"),
        ("TodoWrite", '{"todos":[]}', "todowrite", "TodoWrite"),
        ("Odd", '{"text":"cut', "odd", 'Odd {"text":"cut'),
    ],
)
def test_a_call_is_one_line_of_its_tool_and_what_it_was_about(
    tool: str, arguments: str, intent: str, head: str
) -> None:
    (entry,) = conversation_of(
        execution(call(1, tool=tool, arguments=arguments, intent=intent), lines=1)
    ).entries
    assert entry.head.endswith(head)
    assert entry.head.startswith(tool)


def test_texts_are_safe_to_print() -> None:
    hostile = "\x1b]0;title\x07red\x1b[31m\u202e\x07"
    told = conversation_of(
        execution(
            turn(1, hostile),
            call(2, arguments=hostile, output=f"fatal: {hostile}", outcome=CallOutcome.FAILED),
            lines=2,
        )
    )
    for entry in told.entries:
        for text in (entry.head, entry.body, entry.asked, entry.headline, entry.told):
            assert not set(text) & set("\x1b\x07\u202e")
    assert told.entries[0].full_body([(1, "\x1b[2J")]) == told.entries[0].body


def test_the_full_output_is_taken_from_the_lines_of_its_result() -> None:
    whole = CUT.replace("\n… [cut] …\n", "the middle " * 500)
    told = conversation_of(execution(call(1, 4, output=CUT), lines=4))
    entry = told.entries[0]
    assert entry.body_ref == (4, 4)
    plain = json.dumps({"content": [{"text": whole}], "other": "x" * 20_000})
    assert entry.full_body([(4, plain)]) == whole
    nested = json.dumps({"output": json.dumps({"output": whole, "metadata": {}})})
    assert entry.full_body([(4, nested)]) == whole
    assert entry.full_body([(4, f"a line of Markdown {whole}")]).endswith(whole)


@rows("line", ["{}", "", '{"content": "other words"}', '{"torn'])
def test_an_output_that_the_lines_do_not_have_is_as_in_the_record(line: str) -> None:
    (entry, *_) = conversation_of(execution(call(1, 2, output=CUT), lines=2)).entries
    assert entry.full_body([(2, line)]) == CUT


def test_an_output_that_is_whole_in_the_record_is_not_looked_for() -> None:
    (entry,) = conversation_of(execution(call(1, output="ok"), lines=1)).entries
    assert entry.full_body([(1, '{"text": "look, a longer text"}')]) == "ok"


def test_folded_lines_unfold_to_themselves() -> None:
    (entry,) = conversation_of(execution(lines=2)).entries
    assert entry.body_ref == (1, 2)
    assert entry.full_body([(1, "{}"), (2, "b\x1b")]) == "{}\nb␛"


def test_a_call_that_started_a_session_names_it() -> None:
    parts = (
        StartedSession("claude_code:s1/agent-7f", "Look for the cause of the failure"),
        StartedSession("claude_code:s1/other", 'Read "every" file of the project and ' * 4),
    )
    asked = json.dumps({"prompt": parts[1].task}, separators=(",", ":"))
    told = conversation_of(
        execution(
            call(1, tool="Task", arguments="{}", output="agentId: agent-7f"),
            call(2, tool="Agent", arguments=asked),
            call(3, output="nothing of it"),
            lines=3,
        ),
        parts,
    )
    assert [entry.part for entry in told.entries] == [parts[0].id, parts[1].id, ""]


def test_words_of_the_agent_that_started_a_session_are_told_apart() -> None:
    told = conversation_of(execution(turn(1, "Find it", "parent"), lines=1))
    assert told.entries[0].kind is EntryKind.ASKED


def test_importing_it_loads_no_pydantic() -> None:
    program = "import sys, synthorg_tui.executions.conversation; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pydantic" not in done.stdout.split()
    assert "synthorg_tui.executions.conversation" in done.stdout.split()
