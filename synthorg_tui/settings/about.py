"""What each setting is for, in the words of the commented settings file that is shipped.

The file ``config/company.yaml`` has every setting with its default and a comment; a test holds it
to the models. So what a person reads on the screen is what they read there.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Final

import synthorg_tui
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.settings.document import Document, SettingPath, dotted, read_document

_FILE: Final = "company.yaml"
_MARK: Final = "#"


def shipped_file() -> Path:
    """Return the path of the commented settings file: in the checkout, or where it was installed.

    It needn't be there, in a package that somebody made otherwise.
    """
    checkout = Path(synthorg_tui.__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file():
        return checkout / "config" / _FILE
    return Path(sys.prefix) / "share" / "synthorg-tui" / _FILE


@cache
def descriptions() -> dict[str, str]:
    """Return what each setting is for, by its path; none where the file isn't there.

    A section's words stand for the settings in it that have none of their own.
    """
    path = shipped_file()
    try:
        document, lines = read_document(path), path.read_text("utf-8").splitlines()
    except (ConfigError, OSError, UnicodeDecodeError):
        return {}
    return {dotted(at): told for at in document.lines if (told := _told(document, lines, at))}


def _told(document: Document, lines: list[str], at: SettingPath) -> str:
    """The comment above a setting, or behind it, else that of what it is in."""
    for length in range(len(at), 1, -1):
        if (line := document.lines.get(at[:length])) is None:
            continue
        above = _above(lines, line - 1)
        behind = lines[line - 1].partition(f"  {_MARK} ")[2].strip()
        if told := " ".join(filter(None, (above, behind))):
            return told
    return ""


def _above(lines: list[str], at: int) -> str:
    """The comment above a line or the run of lines that it is in, without its examples."""
    said: list[str] = []
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        bare = line.strip()
        is_comment = bare.startswith(_MARK)
        if not bare or len(line) - len(line.lstrip()) != indent or (said and not is_comment):
            break
        if is_comment:
            said.insert(0, bare.removeprefix(_MARK))
    return " ".join(line.strip() for line in said if not line.startswith("   ")).rstrip(":")
