"""The guard on real terminals: a person is asked, whatever has no person is refused."""

from synthorg_tui.core.actors import AGENT_MARKS, CodingAgent, agent_in
from tests.pty_kit import at_terminal, without_marks, without_terminal
from tests.tables import rows

ASK = """
from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.cli.terminal import controlling_terminal
try:
    with controlling_terminal() as terminal:
        print("GOT", repr(terminal.ask("Type it:")), terminal.person.via, flush=True)
except DecisionRefusedError as error:
    print("REFUSED", error.message, flush=True)
except KeyboardInterrupt:
    print("INTERRUPTED", flush=True)
"""


def test_what_is_typed_at_the_terminal_is_the_answer() -> None:
    ran = at_terminal(["-c", ASK], answers={"Type it:": " 3f2a \n"})
    assert "GOT '3f2a' terminal" in ran.screen


def test_the_terminal_is_asked_even_when_the_standard_streams_are_something_else() -> None:
    ran = at_terminal(["-c", ASK], answers={"Type it:": "3f2a\n"}, piped=True)
    assert ran.out == "GOT '3f2a' terminal\n"
    assert "Type it:" in ran.screen


def test_what_was_typed_before_the_question_is_no_answer() -> None:
    ran = at_terminal(["-c", ASK], typed_ahead="pasted\n", answers={"Type it:": "seen\n"})
    assert "GOT 'seen'" in ran.screen


def test_ctrl_c_interrupts_the_question_inside_an_event_loop_too() -> None:
    program = ASK.replace("\n", "\n    ")
    program = f"import asyncio\nasync def main():\n    {program}\nasyncio.run(main())"
    ran = at_terminal(["-c", program], answers={"Type it:": "\x03"})
    assert "INTERRUPTED" in ran.screen


def test_the_end_of_input_is_an_empty_answer() -> None:
    assert "GOT ''" in at_terminal(["-c", ASK], answers={"Type it:": "\x04"}).screen


def test_without_a_terminal_nobody_is_asked_and_standard_input_is_not_read() -> None:
    assert without_terminal(["-c", ASK]).out.startswith("REFUSED there is no terminal")


def test_in_the_background_nobody_is_asked() -> None:
    child = f"os.setpgid(0, 0); exec({ASK!r}); os._exit(0)"
    ran = at_terminal(["-c", f"import os\nif os.fork() == 0:\n    {child}\nos.wait()"])
    assert "REFUSED it runs in the background" in ran.screen


def test_an_agents_environment_is_refused_even_at_a_terminal() -> None:
    ran = at_terminal(["-c", ASK], env=without_marks(CLAUDECODE="1"))
    assert "REFUSED Claude Code (CLAUDECODE is set) runs this" in ran.screen


@rows("mark", AGENT_MARKS)
def test_every_mark_counts_unless_it_is_empty(mark: str) -> None:
    agent_id, name = AGENT_MARKS[mark]
    assert agent_in({mark: "1"}) == CodingAgent(agent_id, name, mark)
    assert agent_in({mark: "", "CODEX_HOME": "/home/me/.codex", "GEMINI_API_KEY": "x"}) is None
