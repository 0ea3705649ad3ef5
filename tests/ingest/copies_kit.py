"""Histories of Claude Code sessions, and the ways in which their files get copied and cut."""

import json
import random
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass
class Written:
    """A file: the name of its session, its rows as they came about, and the folder it is in."""

    session: str
    rows: list[Row]
    folder: str = "p"

    def save(self, root: Path) -> Path:
        path = root / self.folder / f"{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (json.dumps({**row, "sessionId": self.session}) for row in self.rows)
        path.write_text("".join(f"{row}\n" for row in rows))
        return path


@dataclass
class Story:
    """Writes the rows of sessions, each row with an id of its own."""

    dice: random.Random = field(default_factory=lambda: random.Random(1))
    cwd: str = "/srv/kiln"
    at: datetime = START
    rows: list[Row] = field(default_factory=list)

    def name(self) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128)))

    def row(self, kind: str, message: Row) -> "Story":
        self.at += timedelta(seconds=self.dice.randint(2, 40))
        row = {
            "type": kind,
            "uuid": self.name(),
            "parentUuid": self.rows[-1]["uuid"] if self.rows else None,
            "cwd": self.cwd,
            "gitBranch": "main",
            "timestamp": self.at.isoformat(),
            "message": message,
        }
        self.rows.append(row)
        return self

    def user(self, text: str) -> "Story":
        return self.row("user", {"role": "user", "content": text})

    def say(self, text: str) -> "Story":
        return self.row("assistant", {"content": [{"type": "text", "text": text}]})

    def bash(self, command: str, output: str = "ok", *, failed: bool = False) -> "Story":
        id_ = f"toolu_{self.dice.getrandbits(96):024x}"
        arguments = {"command": command}
        block = {"type": "tool_use", "id": id_, "name": "Bash", "input": arguments}
        text = f"Exit code 1\n{output}" if failed else output
        result = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
        self.row("assistant", {"content": [block]})
        return self.row("user", {"content": [result]})

    def take_turns(self, count: int) -> "Story":
        """Add so many requests, some with failures that are mastered."""
        for number in range(count):
            word = f"part {self.dice.randint(100, 999)}"
            self.user(f"Fix {word}. {self.dice.choice(_ASIDES)}".strip())
            if self.dice.random() < 0.6:
                self.bash("make check", f"error: no glaze for {word}", failed=True)
                self.bash(f"make glaze-{number}").bash("make check")
            self.bash(f"git diff --stat {number}", "one file").say(f"Done with {word}: it holds.")
        return self

    def written(self) -> Written:
        return Written(self.name(), self.rows)


_ASIDES = (
    "",
    "Never fire the kiln above 1200 degrees.",
    "Always weigh the clay.",
)


def copied(story: Story, file: Written, how: int) -> Written:
    """Return a copy of a file, cut and named in one of several ways."""
    dice = story.dice
    count = len(file.rows)
    cut = dice.randint(2, count)
    name = story.name()
    rows = {0: file.rows, 1: file.rows[:cut], 2: file.rows[count - cut :]}[how % 3]
    if how // 3 % 2:
        rows = [_later(row, 3600) for row in rows]
    in_place = how // 6 % 2
    return Written(file.session if in_place else name, rows, "p" if how < 12 else "q")


def forked(story: Story, file: Written, number: int) -> Written:
    """Return a fork of a file that goes on by itself, some days after."""
    cut = story.dice.randint(2, len(file.rows))
    own = Story(random.Random(2**40 + number), at=START + timedelta(days=1 + number % 50))
    return Written(story.name(), [*file.rows[:cut], *own.take_turns(1).rows])


def _later(row: Row, seconds: int) -> Row:
    at = datetime.fromisoformat(row["timestamp"]) + timedelta(seconds=seconds)
    return {**row, "timestamp": at.isoformat()}
