"""Finds files and lines under a folder; run as a program of its own, not imported.

A pattern that a model wrote can keep Python busy for ever, and nothing interrupts it: so this runs
in a process that can be killed. It uses the standard library alone, follows no link, opens plain
files only, and prints what it finds as it finds it.

Arguments: the folder, the names that lead to where to begin (joined by ``/``), a glob for paths
(empty for all), a regular expression for lines (empty to list the files), and the most results.
"""

import os
import re
import stat
import sys

MAX_FILE = 4_000_000
MAX_LINE = 400
MAX_FILES = 200_000
SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox"})
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def glob_expression(pattern: str) -> str:
    """Return a glob as a regular expression; ``**`` is any number of folders.

    One without a slash is of the file's name alone.
    """
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    parts = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\])", pattern):
        if part.startswith("["):
            parts.append(part.replace("[!", "[^", 1).replace("\\", "\\\\"))
        else:
            known = {"**/": r"(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
            parts.append(known.get(part, re.escape(part)))
    return "".join(parts)


def lines_of(name: str, folder: int) -> "list[str]":
    """Return the lines of a plain text file, none for any other."""
    descriptor = os.open(name, _OPEN, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return []
        content = file.read(MAX_FILE)
    return [] if b"\0" in content else content.decode("utf-8", "replace").split("\n")


def matches(path: str, name: str, folder: int, wanted: "re.Pattern[str] | None") -> "list[str]":
    """Return what to print of a file: its path, or its lines that match."""
    path = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in path)
    if wanted is None:
        return [path]
    try:
        lines = enumerate(lines_of(name, folder), start=1)
    except OSError:
        return []
    found = ((number, line.rstrip("\r")) for number, line in lines if wanted.search(line))
    return [f"{path}:{number}:{line[:MAX_LINE]}" for number, line in found]


def search(root: str, start: str, glob: str, regex: str, most: int) -> None:
    """Print what is found, and a last line if there is more."""
    named = re.compile(glob_expression(glob)) if glob else None
    wanted = re.compile(regex) if regex else None
    folder = os.open(root, _FOLDER)
    for part in filter(None, start.split("/")):
        folder = os.open(part, _FOLDER, dir_fd=folder)
    shown = seen = 0
    for above, folders, files, descriptor in os.fwalk(".", dir_fd=folder):
        folders[:] = sorted(each for each in folders if each not in SKIPPED)
        for name in sorted(files):
            seen += 1
            path = os.path.normpath(f"{above}/{name}")
            if named is not None and not named.fullmatch(path):
                continue
            for line in matches(f"{start}/{path}".lstrip("/"), name, descriptor, wanted):
                if shown == most or seen > MAX_FILES:
                    print("[there is more: narrow the search]", flush=True)
                    return
                shown += 1
                print(line, flush=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        search(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    except re.error as error:
        print(f"the pattern can't be read: {error}")
        sys.exit(2)
    except OSError as error:
        print(f"the folder can't be searched: {error.strerror}")
        sys.exit(2)
