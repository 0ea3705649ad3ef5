"""Patterns as data: files of named regular expressions, compiled when they are needed."""

import re
import tomllib
from pathlib import Path


class Patterns(dict[str, re.Pattern[str]]):
    """The patterns of a data file by name, each compiled when it is first asked for.

    ``<<name>>`` in one stands for another one; line ends count as nothing.
    """

    def __init__(self, file: Path, flags: int = re.IGNORECASE) -> None:
        """Read a TOML file: its ``patterns``, and those of its ``cues`` as ``cue 0`` and so on."""
        super().__init__()
        self.data = tomllib.loads(file.read_text(encoding="utf-8"))
        cues = enumerate(self.data.get("cues", ()))
        self._texts = self.data["patterns"] | {f"cue {at}": cue["pattern"] for at, cue in cues}
        self._flags = flags

    def __missing__(self, name: str) -> re.Pattern[str]:
        """Compile a pattern."""
        self[name] = found = re.compile(self._text(name), self._flags)
        return found

    def _text(self, name: str) -> str:
        plain = self._texts[name].replace("\n", "")
        return re.sub("<<([a-z_]+)>>", lambda found: self._text(found[1]), plain)
