"""Intents of tool calls: what a call was for, in a form that two attempts at it share.

Intents are stored with each call. They are read from what an agent wrote, by rules that never run
a shell: a command that can't be parsed still names its program.
"""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath

from synthorg_tui.executions.call_words import CALLS
from synthorg_tui.executions.programs import known_programs, program_name, set_own_programs

_FILE_TOOLS = {
    "edit": "edit",
    "edit_file": "edit",
    "editor": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "str_replace": "edit",
    "strreplace": "edit",
    "search_replace": "edit",
    "search_and_replace": "edit",
    "replace": "edit",
    "replace_in_file": "edit",
    "insert_content": "edit",
    "apply_diff": "edit",
    "write_to_file": "write",
    "write": "write",
    "write_file": "write",
    "create": "write",
    "create_file": "write",
    "read": "read",
    "read_file": "read",
    "view": "read",
    "apply_patch": "edit",
}
_EDITORS = frozenset({"text_editor", "file_editor", "str_replace_editor"})
_EDITOR_VERBS = {
    "write": "write",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "diff": "edit",
    "view": "read",
}
"""What tools that edit do, by their argument ``command``."""
_PATHS = ("file_path", "path", "notebook_path", "filePath", "target_file")
_ABOUT_ARGUMENT = frozenset(
    {"webfetch", "websearch", "grep", "glob", "task", "agent", "taskoutput", "skill", "web_search"}
    | {"list_files", "search_files"}
)
"""Tools for which another argument is another intent."""
_GOES = frozenset({"cd", "pushd", "Set-Location", "sl", "chdir", "Push-Location"})
_PREPARATION = _GOES | frozenset(
    {
        "Write-Host",
        "Write-Output",
        "Start-Sleep",
        "Pop-Location",
        "rem",
        "setlocal",
        "endlocal",
        "@echo",
        "popd",
        "export",
        "set",
        "source",
        ".",
        "sleep",
        "echo",
        "true",
        "unset",
        "printf",
    }
)
_OPERATORS = frozenset({"&&", ";", "||", "&", ";;", "\n"})
_GRAMMAR = frozenset(
    {"if", "then", "elif", "else", "do", "while", "until", "!", "{", "(", ")", "}"}
    | {"elseif", "try", "finally"}
)
_LOOPS = frozenset(
    {
        "for",
        "select",
        "case",
        "function",
        "fi",
        "done",
        "esac",
        "foreach",
        "switch",
        "param",
        "catch",
    }
)
_VALUES = frozenset({"-C", "-c", "--git-dir", "-n", "--namespace", "--prefix", "-f"})
_DOTTED_SUBCOMMANDS = frozenset({"mix", "gradle"})
_MAX_COMMAND = 4_000


@dataclass(frozen=True, slots=True)
class Step:
    """One program that a shell command runs.

    ``intent`` is the program with its subcommand (``git push``), ``targets`` the files or folders
    it names, ``words`` the program and its arguments. ``lead`` is what stood before it (variables,
    ``sudo``, ``uv run``), including variables exported earlier; ``directory`` is where an earlier
    ``cd`` of the same command went. ``hidden_by`` is the operator for which the exit status of the
    whole command says nothing of this step (``|``, ``;``, ``||``, ``&``); else empty.
    """

    intent: str
    targets: frozenset[str]
    words: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    directory: str = ""
    hidden_by: str = ""


def call_intent(tool: str, arguments: Mapping[str, object], command: str = "") -> str:
    """Return what a tool call was for, in comparable form: ``git push``, ``edit src/a.py``.

    ``command`` is the shell command when the tool runs one. Other tools give their lower-case name.
    """
    from synthorg_tui.executions.models import is_shell  # here: reading settings needs no models

    name = tool.lower()
    if is_shell(tool):
        steps = command_steps(command)
        return steps[-1].intent if steps else name
    verb = _FILE_TOOLS.get(name.removeprefix("developer__"))
    if name.removeprefix("developer__") in _EDITORS:
        verb = _EDITOR_VERBS.get(str(arguments.get("command")))
    if verb:
        path = next(filter(None, map(arguments.get, _PATHS)), "")
        return f"{verb} {path}" if isinstance(path, str) and path else name
    if name in _ABOUT_ARGUMENT:
        about = next((value for value in arguments.values() if isinstance(value, str)), "")
        return f"{name} {about[:200]}".strip()
    return name


@lru_cache(maxsize=2048)
def command_steps(command: str) -> tuple[Step, ...]:
    """Parse a shell command into the programs it runs, in order.

    Preparation such as ``cd`` or ``export`` is left out, and so are the words of loops and
    conditions. Only the first program of a pipeline is included: the rest merely looks at its
    output.
    """
    text = CALLS["heredoc"].sub(" ", command[:_MAX_COMMAND].replace("\\\n", " "))
    steps: list[Step] = []
    directory = ""
    exported: tuple[str, ...] = ()
    for words, hidden_by in _simple_commands(text):
        if words[0] in _GOES and len(words) in {2, 3}:
            directory = words[-1]
        elif (inner := _started(words)) is not None:
            steps += [_within(step, directory, hidden_by) for step in command_steps(inner)]
        elif words[0] == "export":
            exported = (*exported, *words[1:])
        elif (step := _step(words)) is not None:
            lead = (*exported, *step.lead)
            steps.append(replace(step, lead=lead, directory=directory, hidden_by=hidden_by))
    return tuple(steps)


def configure_commands(entries: Sequence[str]) -> None:
    """Have commands read by what the settings say of a person's programs, too."""
    if set_own_programs(entries):
        command_steps.cache_clear()


def _started(words: list[str]) -> str | None:
    """The command that a shell is started with, as in ``bash -lc "npm test"``."""
    if CALLS["shells"].fullmatch(program_name(words[0])):
        for place, word in enumerate(words[1:-1], 2):
            if CALLS["text_follows"].fullmatch(word):
                return " ".join(words[place:])
    return None


def _within(step: Step, directory: str, hidden_by: str) -> Step:
    """A step of a command that another one started."""
    hidden_by = step.hidden_by or hidden_by
    return replace(step, directory=step.directory or directory, hidden_by=hidden_by)


@dataclass(slots=True)
class _Pipeline:
    """The words of its first command, and the operator after the whole of it."""

    words: list[str] = field(default_factory=list)
    is_piped: bool = False
    joined_by: str = ""


def _simple_commands(text: str) -> list[tuple[list[str], str]]:
    """Word lists of the first commands of pipelines, each with what hides its exit status."""
    pipelines = [_Pipeline()]
    for word in _words(CALLS["redirection"].sub(" ", text)):
        if word in {"|", "|&"}:
            pipelines[-1].is_piped = True
        elif word in _OPERATORS:
            pipelines[-1].joined_by = word
            pipelines.append(_Pipeline())
        elif not pipelines[-1].is_piped:
            pipelines[-1].words.append(word)
    found = [one for one in pipelines if _without_grammar(one.words)]
    told = {letter for one in found if one.words[0] == "set" for letter in one.words[1:]}
    stops = any(re.fullmatch(r"-\w*e\w*", word) for word in told)
    commands: list[tuple[list[str], str]] = []
    hides = ""
    for place, one in reversed([*enumerate(found)]):
        if place + 1 < len(found) and one.joined_by != "&&":
            hides = hides if one.joined_by == ";" and stops else one.joined_by
        if one.joined_by == "&":
            hides = "&"
        own = "||" if place and found[place - 1].joined_by == "||" else hides
        if one.is_piped and own in {"", ";"} and "pipefail" not in told:
            own = "|"
        commands.append((one.words, own))
    return commands[::-1]


def _without_grammar(words: list[str]) -> list[str]:
    """Take words of the shell's grammar off the ends of a command; empty where nothing is left."""
    while words and (words[0] in _GRAMMAR or words[0].startswith("(")):
        inner = words[0].lstrip("(")
        words[0:1] = [inner] if inner and inner != words[0] else []
    if words[1:2] == ["="] and words[0][:1] == "$":  # what a variable of PowerShell is set to
        is_value = len(words) == 3 and not CALLS["cmdlet"].fullmatch(words[2])
        words[0:2] = []
        if is_value or (words and not CALLS["program"].fullmatch(words[0])):
            words.clear()
    if words and (
        words[0] in _LOOPS or words[0][:1] == "#" or re.fullmatch(r"\$\w+(?:\.\w+)+", words[0])
    ):
        words.clear()
    while words and (over := words[-1].count(")") - words[-1].count("(")) > 0:
        bare = words[-1].removesuffix(")" * over)
        words[-1:] = [bare] if bare else []
        if bare:
            break
    return words


def _words(command: str) -> list[str]:
    is_windows = CALLS["windows"].search(CALLS["prose"].sub(" ", command)) is not None
    text = (re.sub(r"[`^]\n", " ", command) if is_windows else command).replace("\n", " ; ")
    is_cmd = is_windows and CALLS["cmd"].search(text) is not None
    if is_windows and not is_cmd:  # a block ends a command
        text = _outside_quotes(r"(?<![@$])[{}]", " ; ", text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars="&|" if is_cmd else ";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = "" if is_windows else lexer.escape
    try:
        words = list(lexer)
    except ValueError:  # unbalanced quotes: a plain split still names the program
        return command.split()
    if is_windows:
        words = [";" if word == "&" and is_cmd else word for word in words]
        words = [word for at, word in enumerate(words) if word != "&" or _is_run_on(words, at)]
    return words


def _is_run_on(words: list[str], at: int) -> bool:
    """Whether an ampersand of PowerShell is none that calls what follows it."""
    return at > 0 and words[at - 1] not in _OPERATORS


def _outside_quotes(pattern: str, new: str, text: str) -> str:
    quoted = CALLS["quoted"].findall(text)
    plain = [re.sub(pattern, new, part) for part in CALLS["quoted"].split(text)]
    return "".join(a + b for a, b in zip(plain, [*quoted, ""], strict=True))


def _step(command: list[str]) -> Step | None:
    words = _unwrapped(command)
    lead = tuple(command[: len(command) - len(words)])
    if not words or words[0] in _PREPARATION:
        return None
    program = program_name(words[0].strip("(){}"))
    rest = words[1:]
    if not program:
        return None
    if CALLS["interpreters"].fullmatch(program):
        program, rest = _interpreted(program, rest)
    subcommand = "" if CALLS["no_subcommand"].fullmatch(program) else _subcommand(program, rest)
    if PurePosixPath(subcommand).suffix and program not in _DOTTED_SUBCOMMANDS:
        subcommand = ""
    targets = frozenset(word for word in rest if _is_target(word, subcommand))
    return Step(f"{program} {subcommand}".strip(), targets, tuple(words), lead)


def _unwrapped(words: list[str]) -> list[str]:
    """Without environment assignments, ``sudo``, ``timeout 60``, ``uv run`` and the like."""
    while words:
        is_setting = CALLS["assignment"].match(words[0]) is not None
        inner = words[1:] if is_setting else [*known_programs().unwrapped(words)]
        if len(inner) == len(words):
            break
        words = inner
    return words


def _without_flags(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[1:]
    return words


def _interpreted(program: str, rest: list[str]) -> tuple[str, list[str]]:
    """``python -m pytest x`` is ``pytest``; ``node build.js`` is ``node build.js``."""
    if program.startswith(("python", "pypy")) and "-m" in rest[:3]:
        module = rest[rest.index("-m") + 1 :]
        return (module[0], module[1:]) if module else (program, [])
    script = _without_flags(rest)
    if script and rest and not rest[0].startswith("-"):
        return f"{program} {PurePosixPath(script[0]).name}", script[1:]
    return program, []


def _subcommand(program: str, rest: list[str]) -> str:
    runner = known_programs().runners.get(program)
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word in _VALUES or (runner is not None and word in runner.values):
            skip = True
        elif not word.startswith("-"):
            return word if CALLS["subcommand"].fullmatch(word) else ""
    return ""


def _is_target(word: str, subcommand: str) -> bool:
    if word.startswith("-") or word == subcommand:
        return False
    return "/" in word or "\\" in word or PurePosixPath(word).suffix != ""


def related(failed: tuple[Step, ...], later: tuple[Step, ...]) -> bool:
    """Tell whether the command ``later`` is another attempt at what ``failed`` was for.

    It is when one of its steps has the same intent as the last step of ``failed`` and doesn't name
    wholly different files. For git any files will do: other paths and remotes are how one corrects
    it.
    """
    if not failed:
        return False
    goal = failed[-1]
    return any(step.intent == goal.intent and _same_targets(goal, step) for step in later)


def _same_targets(goal: Step, step: Step) -> bool:
    if goal.intent.startswith("git ") or not goal.targets or not step.targets:
        return True
    return bool(goal.targets & step.targets or _places(goal) & _places(step))


def _places(step: Step) -> set[str]:
    """Its targets as they are seen from where the command began."""
    return {posixpath.normpath(posixpath.join(step.directory, one)) for one in step.targets}
