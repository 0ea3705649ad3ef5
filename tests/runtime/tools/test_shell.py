"""The shell: in the workspace, with an end, with little held, and nothing left running."""

import asyncio
import os
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from synthorg_tui.core.actors import AGENT_MARKS, agent_in
from synthorg_tui.core.confined import ConfinedFolder
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import is_shell
from synthorg_tui.memory.tools import ToolResult
from synthorg_tui.runtime.tools.processes import KeptOutput, tool_environment
from synthorg_tui.runtime.tools.shell import ShellTool
from tests.patience import PATIENCE, until
from tests.tables import rows

SECRET = "ghp_" + "a1B2" * 9


async def run(
    folder: Path, command: str, environ: Mapping[str, str] | None = None, **more: Any
) -> ToolResult:
    tool = ShellTool(ConfinedFolder(folder), environ=environ)
    return await tool.execute(arguments={"command": command, **more})


def running(mark: str) -> list[str]:
    """Processes whose command line has the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
        except OSError:
            continue
        if mark.encode() in line and int(entry.name) != os.getpid():
            found.append(line.decode())
    return found


class TestCommands:
    async def test_a_command_runs_in_the_workspace(self, tmp_path: Path) -> None:
        assert (await run(tmp_path, "pwd")).content == str(tmp_path)

    async def test_output_and_errors_come_in_their_order(self, tmp_path: Path) -> None:
        found = await run(tmp_path, "echo one; echo two >&2; echo three")
        assert found.content == "one\ntwo\nthree"

    async def test_a_command_that_fails_is_told_with_its_code(self, tmp_path: Path) -> None:
        found = await run(tmp_path, "echo no; exit 3")
        assert (found.content, found.is_error, found.exit_code) == ("no\n[exit code 3]", True, 3)

    async def test_one_that_says_nothing_is_told_as_such(self, tmp_path: Path) -> None:
        assert await run(tmp_path, "true") == ToolResult(content="(no output)", exit_code=0)

    async def test_nothing_can_be_asked(self, tmp_path: Path) -> None:
        found = await run(tmp_path, "read line || echo nothing; tty; exec 3</dev/tty")
        assert "nothing\nnot a tty" in found.content
        assert found.is_error

    async def test_bytes_that_are_no_text_are_no_error(self, tmp_path: Path) -> None:
        assert (await run(tmp_path, r"printf 'a\377b'")).content == "a\ufffdb"

    @rows("command", ["\0", "echo a\0b"])
    async def test_a_command_with_a_nul_is_refused(self, tmp_path: Path, command: str) -> None:
        assert "NUL" in (await run(tmp_path, command)).content

    def test_its_name_is_one_that_records_are_read_by(self, tmp_path: Path) -> None:
        name = ShellTool(ConfinedFolder(tmp_path)).name
        assert is_shell(name)
        assert call_intent(name, {}, "cd x && git push") == "git push"


class TestEnds:
    async def test_a_command_that_ignores_being_told_is_killed(self, tmp_path: Path) -> None:
        mark = f"mark-{uuid4().hex}"
        command = f"trap '' TERM; while :; do sleep 0.1 # {mark}\ndone"
        found = await run(tmp_path, command, timeout=0.2)
        assert found.is_error
        assert "took more than 0.2 s and was ended" in found.content
        assert running(mark) == []

    async def test_what_holds_the_pipe_open_in_the_background_is_not_waited_for(
        self, tmp_path: Path
    ) -> None:
        async with asyncio.timeout(PATIENCE):
            found = await run(tmp_path, "sleep 6125 & echo done")
        assert found.content == "done\n[what it left running in the background was ended]"
        assert running("6125") == []

    async def test_what_leaves_the_group_is_found_all_the_same(self, tmp_path: Path) -> None:
        command = "setsid sleep 62.25 >/dev/null 2>&1 & sleep 0.2; echo done"
        found = await run(tmp_path, command)
        assert found.content.startswith("done")
        assert running("62.25") == []

    async def test_what_is_just_being_started_beside_the_group_is_found(
        self, tmp_path: Path
    ) -> None:
        """Each that leaves starts the next one, so that some are at it whenever one looks."""
        leaving = '[ $0 = 0 ] || setsid sh -c "$1" $(($0 - 1)) "$1" & sleep 63.25'
        found = await run(tmp_path, f'export L=\'{leaving}\'; sh -c "$L" 30 "$L" & sleep 0.01')
        assert not found.is_error
        assert running("63.25") == []

    async def test_a_cancel_ends_the_whole_group(self, tmp_path: Path) -> None:
        task = asyncio.ensure_future(run(tmp_path, "sleep 63.25 & touch begun; sleep 63.25"))
        await until((tmp_path / "begun").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running("63.25") == []

    async def test_an_endless_output_ends_with_the_time(self, tmp_path: Path) -> None:
        found = await run(tmp_path, "yes", timeout=0.3)
        assert "took more than 0.3 s" in found.content
        assert len(found.content) < 1_100_000


class TestOutput:
    async def test_fifty_megabytes_are_not_held(self, tmp_path: Path) -> None:
        tracemalloc.start()
        try:
            found = await run(tmp_path, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert "bytes are left out here" in found.content
        assert found.content.endswith("xxx\nend")
        assert peak < 10_000_000

    @rows(("count", "note"), [(10, False), (11, True)])
    def test_both_ends_of_a_stream_are_kept(self, count: int, note: bool) -> None:
        kept = KeptOutput(10)
        for byte in b"abcdefghijk"[:count]:
            kept.add(bytes([byte]))
        assert kept.text.startswith("abcde")
        assert kept.text.endswith(chr(ord("a") + count - 1))
        assert ("[... 1 bytes are left out here ...]" in kept.text) is note
        assert kept.total == count

    def test_one_long_piece_is_kept_by_its_ends_too(self) -> None:
        kept = KeptOutput(4)
        kept.add(b"ab" + b"-" * 100 + b"yz")
        assert (kept.text[:2], kept.text[-2:]) == ("ab", "yz")


class TestEnvironment:
    async def test_neither_secrets_nor_marks_of_agents_reach_a_command(
        self, tmp_path: Path
    ) -> None:
        given = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "CLAUDECODE": "1",
            "SYNTHORG_DATA_DIR": "/x",
            "OPENAI_API_KEY": "sk-1",
            "DB_PASSWORD": "x",
            "HARMLESS": SECRET,
            "EDITOR": "vi",
        }
        lines = (await run(tmp_path, "env", given)).content.splitlines()
        names = {line.partition("=")[0] for line in lines}
        assert {"PATH", "LANG", "EDITOR"} <= names
        kept_out = {"CLAUDECODE", "SYNTHORG_DATA_DIR", "OPENAI_API_KEY", "DB_PASSWORD", "HARMLESS"}
        assert not names & kept_out

    def test_a_command_is_known_to_be_an_agents(self) -> None:
        """Else it could decide in the person's name."""
        found = agent_in(tool_environment(dict.fromkeys(AGENT_MARKS, "")))
        assert found is not None
