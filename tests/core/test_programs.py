"""Every place where this program starts another one, and why nothing in a project is executed."""

import ast
from pathlib import Path

from synthorg_tui import core
from synthorg_tui.core.git import nul_joined, nul_split

PACKAGE = Path(core.__file__).parents[1]
STARTS = {"run", "Popen", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec"}
STARTS |= {"execvp", "execve", "execv", "execl", "system", "popen", "posix_spawn", "check_output"}
MODULES = {"subprocess", "os", "asyncio", "loop"}
PLACES = {
    "cli/commands/sessions.py": "the person's own agent, resumed in its folder by the person",
    "cli/pager.py": "the person's pager, in their home",
    "connect/clients.py": "a client asked for its version, in the person's home",
    "connect/hook.py": "Python without the folder on its path",
    "connect/status_line.py": "Python without the folder on its path",
    "core/editor.py": "the person's editor, in the folder of the file",
    "core/git.py": "git with a git directory of our own, or for names and configuration only",
    "host/headless.py": "Python without the folder on its path",
    "memory/fine_tune/weights_process.py": "Python without the folder on its path",
    "memory/index/edge_files.py": "Python without the folder on its path",
    "persistence/database_file.py": "Python in isolation",
    "persistence/integrity.py": "Python without the folder on its path",
    "runtime/executors/process.py": "a client in its copy, with its own guards",
    "runtime/tools/processes.py": "what an agent asked for, as its profile lets it",
    "tui/attention.py": "notify-send, which reads no file of its folder",
}


def starts_programs(path: Path) -> bool:
    calls = (
        each.func for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)
    )
    return any(
        isinstance(call, ast.Attribute)
        and call.attr in STARTS
        and isinstance(call.value, ast.Name)
        and call.value.id in MODULES
        and (call.value.id, call.attr) != ("asyncio", "run")
        for call in calls
    )


def test_every_place_that_starts_a_program_is_known() -> None:
    found = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if starts_programs(path)
    }
    assert found == set(PLACES)


def test_python_is_never_started_with_the_folder_on_its_path() -> None:
    commands = [
        list(map(ast.unparse, each.elts))
        for path in PACKAGE.rglob("*.py")
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.List | ast.Tuple)
    ]
    started = [each for each in commands if "sys.executable" in each]
    assert len(started) >= 7
    assert {each[1] for each in started} == {"'-P'", "'-I'"}


def test_git_is_started_by_one_module_only() -> None:
    named = [path for path in PACKAGE.rglob("*.py") if 'which("git"' in path.read_text()]
    assert [path.name for path in named] == ["git.py"]
    assert not [path for path in PACKAGE.rglob("*.py") if '["git"' in path.read_text()]


def test_paths_reach_git_and_come_back_whatever_is_in_them() -> None:
    paths = ["a b", "line\nbreak", "b\udcffad"]
    assert nul_split(nul_joined(paths)) == paths
    assert nul_joined([]) == b""
