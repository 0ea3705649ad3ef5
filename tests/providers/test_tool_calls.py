"""Calls of tools: natively by a server, as text by models that were not made to call tools."""

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.completion.text_tools import read_from_text, told_in_text
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.http import MAX_ANSWER_BYTES
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse
from tests.providers.server_kit import QUESTION, Server, said
from tests.providers.server_kit import server as server
from tests.tables import rows

READ = ToolDefinition(
    name="read_file",
    description="Read a\n  file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
    },
)
OFFERED = CompletionOptions(tools=(READ,))
USE = ToolUse(id="call_1", name="read_file", arguments={"path": "a.py"})
CALLED = ChatMessage(role=MessageRole.ASSISTANT, content="Let me see.", tool_uses=(USE,))
RESULT = ChatMessage(role=MessageRole.TOOL, content="x = 1", tool_use_id="call_1")
BLOCK = '<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>'


def native(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    answer = said(text, "tool_calls")
    answer["choices"][0]["message"]["tool_calls"] = list(calls)
    return answer


def call(arguments: str, name: str = "read_file", id: str = "c7") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def read(text: str, reason: FinishReason = FinishReason.STOP) -> Completion:
    return read_from_text(Completion(text=text, finish_reason=reason), [QUESTION], [READ])


class TestServer:
    async def test_tools_are_offered_and_calls_come_back(self, server: Server) -> None:
        server.answers = [(200, native(call('{"path": "a.py"}')))]
        answer = await server.ask(OFFERED)
        assert answer.finish_reason is FinishReason.TOOL_USE
        assert answer.tool_uses == (USE.model_copy(update={"id": "c7"}),)
        (offered,) = server.requests[0][1]["tools"]
        assert offered["function"]["name"] == "read_file"
        assert offered["function"]["parameters"] == READ.parameters

    async def test_several_calls_keep_their_order(self, server: Server) -> None:
        calls = [call("{}", id="a"), call("{}", id="b"), call("{}", id="c")]
        server.answers = [(200, native(*calls, text="Three."))]
        answer = await server.ask(OFFERED)
        assert answer.text == "Three."
        assert [use.id for use in answer.tool_uses] == ["a", "b", "c"]

    async def test_a_call_without_an_id_gets_one(self, server: Server) -> None:
        server.answers = [(200, native(call("{}", id=""), call("{}", id="")))]
        answer = await server.ask(OFFERED, messages=[QUESTION, CALLED, RESULT])
        assert [use.id for use in answer.tool_uses] == ["call_2", "call_3"]

    async def test_calls_and_results_are_sent_as_the_endpoint_takes_them(
        self, server: Server
    ) -> None:
        await server.ask(OFFERED, messages=[QUESTION, CALLED, RESULT])
        _, called, result = server.requests[0][1]["messages"]
        assert called["tool_calls"] == [call('{"path": "a.py"}', id="call_1")]
        assert result == {"role": "tool", "content": "x = 1", "tool_call_id": "call_1"}

    @pytest.mark.parametrize("raw", ["{", "[1]", '"x"', "{" * 9])
    async def test_arguments_that_cant_be_read_are_told_to_the_model(
        self, server: Server, raw: str
    ) -> None:
        server.answers = [(200, native(call(raw)))]
        answer = await server.ask(OFFERED)
        assert answer.tool_uses == ()
        assert "read_file" in answer.format_error

    async def test_calls_are_put_together_from_their_pieces(self, server: Server) -> None:
        pieces = [
            {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"pa'}},
            {"index": 0, "function": {"arguments": 'th": "a.py"}'}},
            {"index": 1, "id": "c2", "function": {"name": "read_file", "arguments": ""}},
        ]
        events = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        server.answers = [(200, f"{body}data: [DONE]\n\n".encode())]
        answer = await server.ask(CompletionOptions(tools=(READ,), on_text=lambda text: None))
        assert [(use.id, dict(use.arguments)) for use in answer.tool_uses] == [
            ("c1", {"path": "a.py"}),
            ("c2", {}),
        ]

    async def test_a_server_without_tools_is_told_of_them_in_words(self, server: Server) -> None:
        server.answers = [(400, {"error": "tools are not supported"}), (200, said(BLOCK))]
        answer = await server.ask(OFFERED)
        assert answer.tool_uses == (USE,)
        body = server.requests[1][1]
        assert "tools" not in body
        assert body["stop"] == ["</tool_call>"]
        assert "read_file(path: string, lines?: integer)" in body["messages"][0]["content"]

    async def test_a_call_that_the_server_left_in_the_text_is_found(self, server: Server) -> None:
        server.answers = [(200, said(BLOCK))]
        assert (await server.ask(OFFERED)).tool_uses == (USE,)

    async def test_without_tools_a_block_is_only_text(self, server: Server) -> None:
        server.answers = [(200, said(BLOCK))]
        answer = await server.ask()
        assert (answer.text, answer.tool_uses) == (BLOCK, ())

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_an_endless_answer_is_an_error(self, server: Server, streamed: bool) -> None:
        server.answers = [(200, b"x" * (MAX_ANSWER_BYTES + 1))]
        on_text = (lambda text: None) if streamed else None
        error = await server.refusal(options=CompletionOptions(on_text=on_text), max_retries=0)
        assert "answered with more than 32 MiB" in error.message


class TestTold:
    def test_the_system_message_tells_of_the_tools(self) -> None:
        system = ChatMessage(role=MessageRole.SYSTEM, content="Be brief.")
        told, options = told_in_text([system, QUESTION], OFFERED)
        assert told[0].content.startswith("Be brief.\n\nYou can call these tools:\n- read_file(")
        assert ": Read a file." in told[0].content
        sample = '<tool_call>{"name": "read_file", "arguments": {"path": "..."}}</tool_call>'
        assert f"For example: {sample}" in told[0].content
        assert told[1] == QUESTION
        assert (options.tools, options.stop) == ((), ("</tool_call>",))

    def test_without_a_system_message_there_is_one_then(self) -> None:
        told, _ = told_in_text([QUESTION], OFFERED)
        assert [message.role for message in told] == [MessageRole.SYSTEM, MessageRole.USER]

    def test_earlier_calls_and_their_results_become_text(self) -> None:
        told, _ = told_in_text([QUESTION, CALLED, RESULT], OFFERED)
        assert told[2].content == f"Let me see.\n{BLOCK}"
        assert (told[3].role, told[3].content) == (
            MessageRole.USER,
            "Result of read_file:\nx = 1",
        )

    def test_choices_are_told(self) -> None:
        parameters = {"type": "object", "properties": {"how": {"enum": ["a", "b"]}}}
        tool = ToolDefinition(name="t", description="d", parameters=parameters)
        told, _ = told_in_text([QUESTION], CompletionOptions(tools=(tool,)))
        assert '- t(how?: "a" | "b"): d' in told[0].content


class TestRead:
    def test_a_block_is_a_call(self) -> None:
        answer = read(f"Let me see.\n{BLOCK}")
        assert answer.text == "Let me see."
        assert answer.tool_uses == (USE,)
        assert answer.finish_reason is FinishReason.TOOL_USE

    def test_the_end_may_be_missing_as_it_is_a_stop_text(self) -> None:
        assert read(BLOCK.removesuffix("</tool_call>")).tool_uses == (USE,)

    def test_what_is_written_behind_the_first_block_is_dropped(self) -> None:
        second = BLOCK.replace("a.py", "b.py")
        answer = read(f"{BLOCK}\nResult of read_file:\ninvented\n{second}")
        assert (answer.text, answer.tool_uses) == ("", (USE,))

    @rows(
        ("block", "problem"),
        [
            ("", "isn't JSON"),
            ("{'name': 'x'}", "isn't JSON"),
            ("[]", "isn't an object"),
            ("{}", '"name" is missing'),
            ('{"name": " "}', '"name" is missing'),
            ('{"name": 3}', '"name" is missing'),
            ('{"name": "x", "arguments": []}', '"arguments" is not an object'),
            ('{"name": "x"} {"name": "y"}', "more than one object"),
            ('{"name": ' + "[" * 100_000, "nested too deeply"),
        ],
    )
    def test_a_block_that_cant_be_read_says_why(self, block: str, problem: str) -> None:
        answer = read(f"So:\n<tool_call>{block}</tool_call>")
        assert problem in answer.format_error
        assert (answer.text, answer.tool_uses) == ("So:", ())

    def test_a_block_that_was_cut_off_says_so(self) -> None:
        answer = read('<tool_call>{"name": "rea', FinishReason.MAX_TOKENS)
        assert "cut off" in answer.format_error

    @rows("form", ["{}", "```json\n{}\n```", "```\n{}```", "\n {} \n"])
    def test_nothing_but_the_object_of_a_call_is_one(self, form: str) -> None:
        inner = BLOCK.removeprefix("<tool_call>").removesuffix("</tool_call>")
        answer = read(form.replace("{}", inner))
        assert (answer.text, answer.tool_uses) == ("", (USE,))

    @rows(
        "text",
        [
            "The answer is 4.",
            '{"name": "other_tool", "arguments": {}}',
            'I wrote {"name": "read_file", "arguments": {}}',
            '{"name": "read_file", "arguments": 3}',
            '{"port": 6543}',
            "",
        ],
    )
    def test_other_answers_stay_as_they_are(self, text: str) -> None:
        answer = read(text)
        assert (answer.text, answer.tool_uses, answer.format_error) == (text, (), "")

    def test_a_mark_within_an_argument_ends_nothing(self) -> None:
        arguments = {"text": "say </tool_call> twice"}
        use = USE.model_copy(update={"arguments": arguments})
        message = ChatMessage(role=MessageRole.ASSISTANT, content="", tool_uses=(use,))
        told, _ = told_in_text([QUESTION, message], OFFERED)
        assert told[-1].content.count("</tool_call>") == 1
        assert dict(read(told[-1].content).tool_uses[0].arguments) == arguments

    def test_ids_go_on_from_those_of_the_conversation(self) -> None:
        answer = Completion(text=BLOCK, finish_reason=FinishReason.STOP)
        found = read_from_text(answer, [QUESTION, CALLED, RESULT], [READ])
        assert found.tool_uses[0].id == "call_2"

    @given(st.text() | st.text().map(lambda text: f"<tool_call>{text}"))
    def test_any_text_is_an_answer_a_call_or_an_error_for_the_model(self, text: str) -> None:
        answer = read(text)
        assert not (answer.tool_uses and answer.format_error)
        if "<tool_call>" in text:
            assert answer.tool_uses or answer.format_error

    @given(
        st.text(string.ascii_lowercase, min_size=1),
        st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()),
    )
    def test_a_call_survives_being_told_and_read(
        self, name: str, arguments: dict[str, Any]
    ) -> None:
        use = ToolUse(id="call_1", name=name, arguments=arguments)
        message = ChatMessage(role=MessageRole.ASSISTANT, content="", tool_uses=(use,))
        told, _ = told_in_text([QUESTION, message], OFFERED)
        assert read(told[-1].content).tool_uses == (use,)
