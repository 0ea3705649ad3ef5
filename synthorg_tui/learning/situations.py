"""Situations: what a failed command ran into, in the few words that a skill is called and found by.

Well-known errors of common tools have a name and words of their own; of any other the telling
words of its error are picked. Both are made of the program and of the error's signature alone, so
that the same failure has the same name in every run, and none that only one run had.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from synthorg_tui.learning.phrases import is_path

MAX_NAME_WORDS = 5
_MAX_PROGRAM_WORDS = 3
_MAX_WORD = 20


class Situation(NamedTuple):
    """What is known of a failure.

    ``name`` is two to five words joined by hyphens. ``when`` goes on after "Use when" and ``why``
    is the reason; both are empty when only the error itself can say it. ``title`` is for a remedy
    that runs another command, which stands for ``{worked}`` in it, and ``shorter`` is what to do
    when a path needs less before it.
    """

    name: str
    when: str = ""
    why: str = ""
    title: str = ""
    shorter: str = ""


class _KnownError(NamedTuple):
    """A well-known error: ``program`` and ``error`` match, ``{p}`` is the program's own words."""

    program: str
    error: str
    name: str
    when: str = ""
    why: str = ""
    title: str = ""
    shorter: str = ""


_KNOWN = (
    _KnownError(
        r"zsh",
        r"no matches found",
        "zsh-pattern-without-match",
        "a command for zsh holds a pattern such as `*` or `?`, or it says that no matches were "
        "found",
        "zsh ends the whole command when a pattern matches nothing, whatever stands after it.",
        "Quote `*` and `?`: zsh stops where a pattern matches nothing",
    ),
    _KnownError(
        r"git push",
        r"no upstream branch",
        "git-push-no-upstream",
        "git push says the current branch has no upstream branch, or before the first push of a "
        "new branch",
        "A new branch has no counterpart on the remote until a push sets one.",
        "Push a new branch with {worked}",
    ),
    _KnownError(
        r"git push",
        r"fetch first|non-fast-forward|remote contains work|branch is behind",
        "git-push-remote-ahead",
        "git push is rejected because the remote has commits that the local branch lacks",
        "Somebody pushed to the same branch in the meantime.",
    ),
    _KnownError(
        r"git push",
        r"src refspec .*not match",
        "git-push-unknown-branch",
        "git push says that a src refspec does not match any",
    ),
    _KnownError(
        r"git pull",
        r"divergent branches",
        "git-pull-divergent-branches",
        "git pull wants to know how to reconcile divergent branches",
        "Both sides have commits of their own, and git doesn't choose between merge and rebase.",
        "Reconcile divergent branches with {worked}",
    ),
    _KnownError(
        r"git pull",
        r"no tracking information",
        "git-pull-no-tracking-branch",
        "git pull says there is no tracking information for the current branch",
        "Without a tracking branch git doesn't know what to pull.",
    ),
    _KnownError(
        r"git \w+",
        r"local changes .*(?:overwritten|would be)|would be overwritten",
        "{p}-overwrites-local-changes",
        "{p} refuses because local changes would be overwritten",
    ),
    _KnownError(
        r"git \w+",
        r"unstaged changes|uncommitted changes",
        "{p}-uncommitted-changes",
        "{p} refuses because there are uncommitted changes",
    ),
    _KnownError(
        r"git add",
        r"ignored by one of your",
        "git-add-ignored-paths",
        "git add says that paths are ignored by one of the .gitignore files",
        "git add refuses the whole call when one of its paths is ignored.",
    ),
    _KnownError(
        r"git add",
        r"beyond a symbolic link",
        "git-add-beyond-symlink",
        "git add says that a pathspec is beyond a symbolic link",
        "Git stores the link itself and can't stage files through it.",
        "Stage files by their real path, not through a symbolic link",
        "stage the files where they really are: `git add <file>` instead of "
        "`git add <link>/<file>`",
    ),
    _KnownError(
        r"git \w+",
        r"pathspec .*did not match",
        "{p}-unknown-path",
        "{p} says that a pathspec did not match any files",
    ),
    _KnownError(
        r"git commit",
        r"nothing (?:added )?to commit|no changes added",
        "git-commit-nothing-staged",
        "git commit says that there is nothing to commit",
    ),
    _KnownError(
        r"git \w+",
        r"tell me who you are|auto-detect email|identity unknown",
        "git-commit-no-identity",
        "git doesn't know the author's name and e-mail address",
    ),
    _KnownError(
        r"git \w+",
        r"already (?:checked out|used by worktree)",
        "git-branch-checked-out-elsewhere",
        "git says that a branch is checked out in another worktree already",
        "A branch can be checked out in one worktree only.",
    ),
    _KnownError(
        r"git (?:branch|checkout|switch|worktree)",
        r"\bbranch\b.* already exists",
        "git-branch-already-exists",
        "git says that the branch to be made exists already",
    ),
    _KnownError(
        r"git .*",
        r"not a git repository",
        "git-outside-repository",
        "a git command says that it is not run in a git repository",
    ),
    _KnownError(r"git .*", r"unrelated histories", "git-merge-unrelated-histories"),
    _KnownError(r"git branch", r"not fully merged", "git-branch-not-merged"),
    _KnownError(
        r"git .*",
        r"index\.lock|another git process",
        "git-index-locked",
        "git says that its index is locked by another process",
    ),
    _KnownError(
        r"(?:npm|pnpm|yarn).*",
        r"eresolve|dependency tree|peer dep",
        "{p}-peer-conflict",
        "{p} can't resolve the tree of dependencies because of a peer dependency",
    ),
    _KnownError(
        r"(?:npm|pnpm|yarn).*",
        r"package(?:-lock)?\.json.*in sync|frozen-lockfile|lock ?file .*(?:up to date|outdated)",
        "{p}-outdated-lockfile",
        "{p} says that the lock file and package.json are not in sync",
    ),
    _KnownError(
        r"(?:npm|pnpm|yarn|bun).*",
        r"missing script|no script",
        "{p}-missing-script",
        "{p} says that package.json has no such script",
    ),
    _KnownError(
        r"(?:npm|pnpm|yarn|bun).*",
        r"package\.json",
        "{p}-no-package-json",
        "{p} finds no package.json where it runs",
    ),
    _KnownError(
        r"(?:uv )?pip[\d.]* .*",
        r"externally.managed",
        "pip-install-externally-managed",
        "pip install says that the environment is externally managed",
        "The system's Python belongs to its package manager; a virtual environment is your own.",
    ),
    _KnownError(
        r".*",
        r"no matching distribution|could not find a version that satisfies",
        "{p}-no-matching-version",
        "{p} finds no version of a package that fits",
    ),
    _KnownError(r"pytest", r"file or directory not found", "pytest-path-not-found"),
    _KnownError(
        r"(?:docker|podman).*",
        r"connect to the docker daemon|docker daemon running|docker\.sock.*(?:no such|refused)",
        "docker-daemon-not-running",
        "docker can't connect to its daemon",
    ),
    _KnownError(
        r"(?:docker|podman).*",
        r"permission denied.*(?:docker\.sock|daemon socket|docker api)",
        "docker-socket-permission-denied",
        "docker is denied permission to its socket",
    ),
    _KnownError(
        r"(?:docker|podman).*",
        r"no configuration file",
        "docker-compose-no-file",
        "docker compose finds no configuration file where it runs",
    ),
    _KnownError(
        r"(?:docker|podman).*",
        r"container name .*in use",
        "docker-container-name-taken",
        "docker says that the name of the container is in use already",
    ),
    _KnownError(
        r"(?:docker|podman).*",
        r"pull access denied|unauthorized|authentication required|denied: ",
        "{p}-not-logged-in",
        "{p} is refused by the registry",
    ),
    _KnownError(r"(?:docker|podman|kubectl).*", r"not a (?:tty|terminal)", "{p}-no-terminal"),
    _KnownError(
        r"cargo.*",
        r"could not find [`'\"]?cargo\.toml",
        "{p}-outside-package",
        "{p} finds no Cargo.toml where it runs",
    ),
    _KnownError(
        r"cargo.*",
        r"lock file .*needs to be updated",
        "{p}-outdated-lockfile",
        "{p} says that Cargo.lock needs to be updated",
    ),
    _KnownError(
        r"go .*",
        r"go\.mod file not found|cannot find main module",
        "{p}-outside-module",
        "{p} finds no go.mod where it runs",
    ),
    _KnownError(
        r"go .*",
        r"missing go\.sum entry",
        "{p}-missing-sum-entry",
        "{p} says that go.sum lacks an entry",
    ),
    _KnownError(r"go .*", r"updates to go\.mod needed", "{p}-outdated-go-mod"),
    _KnownError(
        r"gh .*",
        r"gh auth login|not logged in|authentication",
        "gh-not-logged-in",
        "a gh command asks for gh auth login",
    ),
    _KnownError(
        r"gh pr create",
        r"must first push|push the current branch",
        "gh-pr-create-unpushed-branch",
        "gh pr create wants the branch to be pushed first",
    ),
    _KnownError(r"gh pr create", r"no commits between", "gh-pr-create-no-commits"),
    _KnownError(
        r"gh .*",
        r"non-?interactive|not running interactively",
        "{p}-non-interactive",
        "{p} can't ask for what it needs because nobody is at a terminal",
    ),
    _KnownError(r"gh pr create", r"already exists", "gh-pr-create-exists-already"),
    _KnownError(
        r"mix.*",
        r"mix deps\.get|errors on dependencies|unchecked dependencies",
        "mix-dependencies-not-fetched",
        "mix can't continue because dependencies weren't fetched",
    ),
    _KnownError(r"terraform.*", r"terraform init", "terraform-not-initialised"),
    _KnownError(r"poetry.*", r"poetry\.lock|lock file", "{p}-outdated-lockfile"),
    _KnownError(
        r"uv .*",
        r"no virtual environment",
        "{p}-no-virtualenv",
        "{p} finds no virtual environment",
    ),
    _KnownError(
        r".*",
        r"eaddrinuse|address (?:is )?already in use|port is already allocated|port .* in use",
        "{p}-port-in-use",
        "{p} says that the port or address is in use already",
    ),
    _KnownError(
        r".*",
        r"permission denied \(publickey",
        "{p}-key-not-accepted",
        "{p} is refused because no SSH key was accepted",
    ),
    _KnownError(
        r".*",
        r"command not found|is not recognized as an internal",
        "{p}-command-not-found",
        "the shell says that it finds no command {p}",
    ),
    _KnownError(r".*", r"permission denied|eacces", "{p}-permission-denied"),
    _KnownError(r".*", r"connection refused|econnrefused", "{p}-connection-refused"),
    _KnownError(r".*", r"timed out", "{p}-timed-out"),
    _KnownError(
        r".*", r"no space left", "{p}-disk-full", "{p} says that there is no space left on a device"
    ),
)
_MISSING = (
    r"no module named ['\"]?(\w+)",
    r"(?:cannot find|could ?n[o']t resolve|module not found:?.*) (?:module |package )?['\"`]"
    r"(@?[\w-]+)['\"`]",
    r"\bno :?([a-z]+_\w+)\b",
    r"\brequires (\w[\w-]*) (?:as a|to be installed|in your)\b",
    r"\bplease install (\w[\w-]*)",
    r"no such (?:sub)?command:? ['\"`]?(\w[\w-]*)",
    r"\b(\w[\w-]*)['\"`]? is not installed",
    r"(?:^|: )(\w[\w-]*): not found$",
    r"environment variable ['\"`]?(\w+)['\"`]? is (?:missing|not set)",
)
"""Errors that say what is missing: its name tells more than any word of the sentence."""
_OPTION = re.compile(r"(?<![\w-])--?([a-z][a-z-]*)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”|<[^>]*>")
_PLAIN = re.compile(r"(?<![\w./\\@:-])[a-z]{2,}(?:'t)?(?:-[a-z]+)*(?![\w/\\@-]|\.\w)")
_SMALL = frozenset(
    """
    a about all an and any are as at be because been before but by can cannot can't could couldn't
    did didn't do does doesn't during each either error errors exit exited fail failed fails fatal
    file files for from get give had has have here how if in into invalid is isn't it its make may
    more must need needs of on one only or other our out over please refuses refusing run see should
    so some such than that the their them then there these this those to too true try unable up us
    use used using was wasn't we were what when where which while will with won't would you your
    following warning line code returned status
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
_NEGATED = {"no", "not", "without", "never"}


def situation_of(program: str, error: str, own: Iterable[str] = ()) -> Situation:
    """Return what is known of a failure, by the ``program`` with its subcommand that failed.

    ``error`` is the signature of its error line; words of ``own`` (arguments of the call) get into
    no name.
    """
    known = next((each for each in _KNOWN if _fits(each, program, error)), None)
    words = program_words(program)
    if known is None:
        values = _lower(word for word in own if not word.startswith("-"))
        return Situation(_joined(words, _telling(error, {*words, *values})))
    rest = known.name.replace("{p}-", "").count("-") + 1
    name = known.name.replace("{p}", "-".join(words[: MAX_NAME_WORDS - rest]))
    shown = " ".join(program.split()[:3])
    return Situation(
        name=name,
        when=known.when.replace("{p}", shown if _is_plain(shown) else words[0]),
        why=known.why,
        title=known.title,
        shorter=known.shorter,
    )


def program_words(program: str) -> tuple[str, ...]:
    """Return a program with its subcommands as one to three words of a name.

    A script of the project is only ``script``: its path is the project's own.
    """
    first, *more = program.split() or [""]
    path = PurePosixPath(first)
    if "/" in first:
        is_tool = "bin" in path.parts or (len(path.parts) == 1 and not path.suffix)
        first, more = (path.name if is_tool else "script"), more * is_tool
    words = [word for part in (first, *more) if not is_path(part) for word in _slugs(part)]
    return tuple(words[:_MAX_PROGRAM_WORDS]) or ("command",)


def _fits(known: _KnownError, program: str, error: str) -> bool:
    """Whether this is the well-known error."""
    return bool(re.fullmatch(known.program, program) and re.search(known.error, error))


def _telling(error: str, own: set[str]) -> Iterator[str]:
    """The words of an error that tell most, in their order."""
    for pattern in _MISSING:
        if (found := re.search(pattern, error)) and not found[1].startswith("-"):
            yield from ("missing", *_slugs(found[1]))
            return
    bare = _QUOTED.sub(" ", error)
    options = [word for name in _OPTION.findall(error) for word in _slugs(name)]
    negation: list[str] = []
    for word in (*_PLAIN.findall(_OPTION.sub(" ", bare)), *options):
        if word in _NEGATED:
            negation = [word]
        elif word in _SMALL or word in own or len(word) <= 2:
            negation = []
        else:
            yield from (*negation, *_slugs(word))
            negation = []


def _joined(program: tuple[str, ...], telling: Iterable[str]) -> str:
    """Two to five words: the program, and as many telling ones as fit."""
    words = list(program)
    for word in telling:
        if len(words) < MAX_NAME_WORDS and word not in words:
            words.append(word)
    while len(words) > len(program) and words[-1] in _NEGATED:
        words.pop()
    return "-".join(words if len(words) > 1 else [*words, "fails"])


def _slugs(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+", text.lower().replace("'", "")) if text.isascii() else []
    return [word[:_MAX_WORD] for word in words]


def _lower(words: Iterable[str]) -> set[str]:
    return {part for word in words for part in _slugs(word)}


def _is_plain(text: str) -> bool:
    return re.fullmatch(r"[\w .:-]+", text) is not None and text.isascii()
