"""What a command is for: to test, check, build, format or run a project, or what is done around it.

That is found by how scripts and programs are called (``programs.toml``), and for a script whose
name tells nothing by what its project declares that it runs. What only lists, explains or rehearses
is for nothing.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.programs import known_programs, program_name

_PYTHON: Final = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)?)?|py")
_SETUP: Final = re.compile(
    r".*\.(?:ini|cfg|toml|json|ya?ml|xml|slnx?|\w*proj|config\.\w+|runsettings|gradle(?:\.kts)?)"
)
"""Files that set up a run, or are a project as a whole."""
_PLACEHOLDERS: Final = frozenset({"<path>", "<name>"})
_DEPTH: Final = 3
"""How many scripts may run each other before one is for nothing."""


def role_of(step: Step, scripts: Mapping[str, str] | None = None, depth: int = _DEPTH) -> str:
    """Return what a step is for, a role of ``programs.toml``; empty when for none.

    ``scripts`` are what scripts of the project run, by their names.
    """
    known = known_programs()
    words = _words(step)
    role = _found(words, scripts or {}, depth)[0]
    options = {word.partition("=")[0] for word in words[1:]}
    looking = {*known.options["looking"], *known.options["looking_of"].get(words[0], ())}
    if not options.isdisjoint(looking):
        return ""
    if role == "format" and not options.isdisjoint(known.options["checking"]):
        return "check"
    return (
        "format" if role == "check" and not options.isdisjoint(known.options["mending"]) else role
    )


def examines_code(step: Step) -> bool:
    """Tell whether a step tests, checks, builds or formats."""
    return role_of(step) in known_programs().roles[:4]


def runs_script(step: Step) -> bool:
    """Tell whether a step runs a script of the project by its name."""
    words = _words(step)
    runner = known_programs().runners.get(words[0])
    return runner is not None and bool(runner.verbs) and bool(runner.script(words)[0])


def runs_code(step: Step) -> bool:
    """Tell whether a step runs or examines code: what it complains of is mostly the code."""
    name = _words(step)[0]
    known = known_programs()
    interprets = _PYTHON.fullmatch(name) or name in known.options["interpreters"]
    examines = examines_code(step) and (name in known.runners or role_of(step) != "build")
    return bool(interprets) or examines or runs_script(step)


def is_part(step: Step) -> bool:
    """Tell whether a step runs a part of the tests: some files, or some by their names."""
    return role_of(step) == "test" and any(picks for _, picks in _arguments(step))


def named_words(step: Step) -> tuple[str, ...]:
    """Return the words of a step as far as they say what it is for."""
    words = _words(step)
    return step.words[: max(_found(words, {}, 0)[1], 1) + len(step.words) - len(words)]


def shown_words(step: Step) -> tuple[str, ...]:
    """Return the words of a step with what was so only once as ``<path>`` or ``<name>``."""
    shown: list[str] = []
    for word, _ in _arguments(step):
        if word not in shown or word not in _PLACEHOLDERS:
            shown.append(word)
    return tuple(shown)


def _words(step: Step) -> tuple[str, ...]:
    """The program by its name alone, and its words; a module of Python's is a program."""
    words = tuple(known_programs().unwrapped(step.words, inside=True)) or (step.intent,)
    name = program_name(words[0])
    if _PYTHON.fullmatch(name) and "-m" in words[1:3]:
        return words[words.index("-m") + 1 :] or (name,)
    if name == "node" and len(words) > 1 and "node_modules/" in words[1]:
        return PurePosixPath(words[1]).stem, *words[2:]
    return name, *words[1:]


def _found(words: tuple[str, ...], scripts: Mapping[str, str], depth: int) -> tuple[str, int, bool]:
    """The role of a command, the place of its first argument, and whether more names follow."""
    known = known_programs()
    role, place = known.of_program(words)
    runner = known.runners.get(words[0])
    if role or runner is None:
        return role, place, False
    name, place = runner.script(words)
    role = known.of_script(name) if name else runner.default
    if not role and depth:
        steps = command_steps(scripts.get(name, ""))
        role = next(filter(None, (role_of(step, scripts, depth - 1) for step in steps)), "")
    return role, place, runner.targets


def _arguments(step: Step) -> Iterator[tuple[str, bool]]:
    """The words of a step as they are shown, each with whether it picks a part of the tests."""
    role, _, has_targets = _found(_words(step), {}, 0)
    options = known_programs().options
    named = named_words(step)
    yield from ((word, False) for word in named)
    before = ""
    for word in step.words[len(named) :]:
        option, has_value, _ = word.partition("=")
        picks = role == "test" and not has_targets
        if picks and before in options["picking"]:
            yield "<name>", True
        elif picks and option in options["picking"]:
            yield f"{option}=<name>" if has_value else word, True
        elif picks and word in options["picking_alone"]:
            yield word, True
        elif word[:1] == "-" or has_value or word in options["whole"]:
            yield word, False
        elif is_file(word) and not _SETUP.fullmatch(word):
            yield "<path>", True
        elif "/" in word and not is_file(word):
            parts = [part for part in word.split("/") if part.strip(".")]
            yield word, len(parts) > 1 or (bool(parts) and word.startswith("./"))
        elif picks and before[:1] != "-" and not is_file(word):
            yield "<name>", True
        else:
            yield word, False
        before = word


def is_file(word: str) -> bool:
    """Tell whether an argument names a file rather than a folder, an option or a setting."""
    path = PurePosixPath(word.partition("::")[0].partition(":")[0])
    return word[:1] != "-" and len(path.suffix) > 1 and "=" not in word and word != "./..."
