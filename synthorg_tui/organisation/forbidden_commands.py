"""Commands as rules name them, compared with those that ran: pushes, options, programs.

Only words that are what they say count; a variable, or an option whose value could be mistaken
for something else, makes a comparison fail rather than guess. Which programs of a call ran is in
``shell_runs``, what a rule says in ``prohibitions``.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from synthorg_tui.organisation.shell_runs import UNTOLD, ShellWord

_GIT_VALUES: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_GIT_PLAIN: Final = re.compile(
    r"-p|-P|--paginate|--no-pager|--bare|--no-replace-objects|--no-optional-locks"
    r"|--(?:git-dir|work-tree|namespace|exec-path|config-env)=.*"
)
_PUSH_VALUES: Final = frozenset({"-o", "--push-option", "--receive-pack", "--exec"})
_NO_GOAL: Final = re.compile(r"--repo(=.*)?|--all|--mirror", re.DOTALL)
"""Options with which a push goes somewhere that its words don't tell."""
_TRIES: Final = frozenset({"--dry-run", "--help", "-h", "--version", "help", "--simulate"})
"""Words with which a command only says what it would do."""
_CLUSTERS: Final = frozenset({"rm", "cp", "mv", "git", "chmod", "chown", "ln"})
"""Programs whose short options may stand together in one word."""
_VALUES: Final = frozenset(
    """
    -m -F -C -c -t -o -S -e -f -n --message --file --author --date --template --grep --body
    --title --fixup --squash --trailer --format --pretty
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""Options after which a word is their value."""
_TEXT_PROGRAMS: Final = frozenset(
    "echo printf grep egrep rg ag man which type whereis apropos test [ ssh xargs".split()  # noqa: SIM905
)
"""Programs whose arguments are text, or are run elsewhere."""
_NO_PROGRAMS: Final = frozenset(
    """
    eval exec test export set let import print type find sort time yes read select any var
    true false kill trap alias source env return exit todo break continue command
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""Words of the shell and of languages, of which a rule in backticks may say either."""
_PROGRAM: Final = re.compile(r"[a-z][a-z0-9_.+-]{1,30}")
_KNOWN: Final = frozenset(
    """
    npm npx yarn pnpm bun pip pip3 pipenv poetry conda brew sudo docker podman kubectl helm
    terraform ansible curl wget rm git gh rsync scp systemctl make cargo sed awk chmod chown
    dd mkfs shutdown reboot apt apt-get dnf yum nc telnet ftp tofu pulumi aws gcloud az
    heroku fly alembic psql mysql mongo redis-cli twine uv pytest
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""Programs that a rule may say not to ``use``: other words may be names in code."""
_PLACEHOLDER: Final = re.compile(r"[<>$*?{}\u2026]|\.\.\.|[\"'\\;&|()#]")


def forbidden_words(command: str, *, is_run: bool) -> tuple[str, ...]:
    """Return the words of a command that a rule names; empty when it may be something else.

    ``is_run`` is whether the rule says to run it, so that it surely is a command.
    """
    words = tuple(command.split())
    if not words or _PLACEHOLDER.search(command) or not _PROGRAM.fullmatch(words[0]):
        return ()
    if words[0] in _NO_PROGRAMS:
        return ()
    return words if words[0] in _KNOWN or (is_run and words[0].islower()) else ()


def git_folder(words: Sequence[ShellWord]) -> str:
    """Return the folder that git is told to work in, empty for none, ``UNTOLD`` if not plainly."""
    if _name(words) != "git":
        return ""
    inner = _git_arguments(words)
    options = words[1 : len(words) - len(inner)] if inner is not None else words[1:]
    if any(word.text.startswith(("--git-dir", "--work-tree")) for word in options):
        return UNTOLD
    found = [after for word, after in pairwise(options) if word.text == "-C"]
    if not found:
        return ""
    return found[0].text if len(found) == 1 and found[0].is_plain else UNTOLD


def pushed_branches(words: Sequence[ShellWord]) -> frozenset[str]:
    """Return the branches that a ``git push`` names as its goals; empty for anything else."""
    return frozenset(branch for _, branch in _goals(words))


def is_force_push(words: Sequence[ShellWord], branches: Collection[str] = ()) -> bool:
    """Return whether it is a ``git push`` by force, of one of the branches if any are given."""
    rest = _push_arguments(words)
    if rest is None or _is_try(rest):
        return False
    goals = list(_goals(words))
    if any(forced and (not branches or goal in branches) for forced, goal in goals):
        return True
    is_forced = any(
        word.text == "--force" or re.fullmatch(r"-[a-zA-Z]*f[a-zA-Z]*", word.text)
        for word in _options(rest)
    )
    return is_forced and (not branches or any(goal in branches for _, goal in goals))


def has_option(words: Sequence[ShellWord], option: str) -> bool:
    """Return whether a program was given an option, as one and not as the value of another."""
    if _name(words) in _TEXT_PROGRAMS or not words[0].is_plain:
        return False
    return any(word.text == option for word in _options(words[1:]))


def is_run_of(words: Sequence[ShellWord], command: Sequence[str]) -> bool:
    """Return whether a program ran that begins as the command does, with all of its options."""
    name = _name(words)
    if name != command[0] or not words[0].is_plain:
        return False
    rest = list(words[1:])
    if name == "git":
        inner = _git_arguments(words)
        if inner is None:
            return False
        rest = list(inner)
    if any(word.text in _TRIES for word in rest):
        return False
    wanted = [word for word in command[1:] if not word.startswith("-")]
    options = [word for word in command[1:] if word.startswith("-")]
    own = list(_options(rest))
    given = {part for word in own for part in _split(name, word.text)}
    if not {part for option in options for part in _split(name, option)} <= given:
        return False
    return not wanted or _begins(rest, wanted, options)


def _begins(rest: Sequence[ShellWord], wanted: Sequence[str], options: Sequence[str]) -> bool:
    """Whether the arguments begin with the wanted ones; options between them may have values."""
    place = 0
    for word in rest:
        if place == len(wanted):
            break
        if word.text.startswith("-"):
            if "=" not in word.text and word.text not in options:
                return False
        elif word.is_plain and word.text == wanted[place]:
            place += 1
        else:
            return False
    return place == len(wanted)


def _name(words: Sequence[ShellWord]) -> str:
    return words[0].text.rpartition("/")[2]


def _split(name: str, option: str) -> tuple[str, ...]:
    if name in _CLUSTERS and re.fullmatch(r"-[a-zA-Z]{2,}", option):
        return tuple(f"-{letter}" for letter in option[1:])
    return (option,)


def _options(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """The options among arguments, without what is the value of one or comes after ``--``."""
    before = ""
    for word in words:
        if word.text == "--":
            return
        is_value = before in _VALUES or re.fullmatch(r"-[a-zA-Z]+m", before) is not None
        if word.is_plain and word.text.startswith("-") and not is_value:
            yield word
        before = word.text


def _git_arguments(words: Sequence[ShellWord]) -> Sequence[ShellWord] | None:
    """The arguments from git's subcommand on; ``None`` when it isn't plain which that is."""
    if _name(words) != "git" or not words[0].is_plain:
        return None
    place = 1
    while place < len(words) and words[place].text.startswith("-"):
        text = words[place].text
        if text in _GIT_VALUES:
            place += 2
        elif _GIT_PLAIN.fullmatch(text):
            place += 1
        else:
            return None
    return words[place:]


def _push_arguments(words: Sequence[ShellWord]) -> Sequence[ShellWord] | None:
    rest = _git_arguments(words)
    if not rest or rest[0].text != "push" or not rest[0].is_plain:
        return None
    return rest[1:]


def _is_try(rest: Sequence[ShellWord]) -> bool:
    return any(
        word.text in ("--dry-run", "--help", "-h")
        or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word.text)
        for word in rest
    )


def _goals(words: Sequence[ShellWord]) -> Iterator[tuple[bool, str]]:
    """The branches that a push names, each with whether it is forced by a ``+``."""
    rest = _push_arguments(words)
    if rest is None or _is_try(rest) or any(_NO_GOAL.fullmatch(word.text) for word in rest):
        return
    named = list(_positional(rest))[1:]
    if any(word.text == "tag" for word in named):
        return
    for word in named:
        if not word.is_plain:
            continue
        goal = word.text.removeprefix("+").rpartition(":")[2].removeprefix("refs/heads/")
        if goal and " " not in goal:
            yield word.text.startswith("+"), goal


def _positional(rest: Sequence[ShellWord]) -> Iterator[ShellWord]:
    is_value, are_options = False, True
    for word in rest:
        if is_value:
            is_value = False
        elif are_options and word.text == "--":
            are_options = False
        elif are_options and word.text.startswith("-"):
            is_value = word.text in _PUSH_VALUES
        else:
            yield word
