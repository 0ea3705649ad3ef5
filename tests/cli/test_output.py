"""Printing for people: alignment, colours, wrapping, and text that can do no harm."""

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.cli.commands.transcripts import describe
from synthorg_tui.cli.output import BLANK, Console, Line, Note, Parts, Table, View, cell_width, cut
from synthorg_tui.cli.records import fields, listing
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted, duration
from synthorg_tui.ingest.service import ImportProgress
from tests.tables import rows

NASTY = "\x1b[31mred\x07\x9b2J\u202eevil\u200b\r"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def console(out: io.StringIO | None = None) -> Console:
    return Console(out or io.StringIO(), io.StringIO())


def printed(target: Console) -> str:
    assert isinstance(target.out, io.StringIO)
    return target.out.getvalue()


def test_text_can_not_steer_the_terminal() -> None:
    target = console()
    target.line(NASTY)
    target.block(NASTY)
    target.parts([(NASTY, "bold"), ("b",)])
    target.table(("A", "B"), [(NASTY, NASTY)])
    assert not set(printed(target)) & set("\x1b\x07\x9b\u202e\u200b\r")


@given(st.text())
def test_json_is_ascii_without_control_bytes_and_reads_back(text: str) -> None:
    target = console()
    target.json({"text": text})
    shown = printed(target)
    assert all(" " <= char <= "~" or char == "\n" for char in shown)
    assert json.loads(shown) == {"text": text}


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_a_cut_text_fits_its_room(text: str, room: int) -> None:
    assert cell_width(cut(text, room)) <= room


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain, coloured = console(), console(Terminal())
    for target in (plain, coloured):
        target.line("x", "green")
    assert printed(plain) == "x\n"
    assert printed(coloured) == "\x1b[32mx\x1b[0m\n"


@rows(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_switched_off(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    target = console(Terminal())
    target.line("x", "green")
    assert printed(target) == "x\n"


def test_columns_are_aligned_by_their_width_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    target = console()
    target.table(("NAME", "TEXT"), [("日本", "one"), ("é", "two"), ("long name", "x" * 50)])
    lines = printed(target).splitlines()
    assert [
        cell_width(line[: line.index(end)])
        for line, end in zip(lines, ("TEXT", "one", "two", "x"), strict=True)
    ] == [11] * 4
    assert max(map(cell_width, lines)) <= 40


def test_a_long_text_is_wrapped_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    target = console()
    target.block("word " * 100, indent=4, max_lines=2)
    lines = printed(target).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("    word") and len(line) <= 42 for line in lines)
    assert lines[-1].endswith("…")


def test_wide_characters_are_wrapped_by_the_columns_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    target = console()
    target.block("日本語の文章" * 10, indent=4)
    lines = printed(target).splitlines()
    assert max(map(cell_width, lines)) <= 40
    assert "".join(line.strip() for line in lines) == "日本語の文章" * 10


def test_only_text_that_rich_has_to_measure_loads_it() -> None:
    code = (
        "import io, sys; from synthorg_tui.cli.output import Console\n"
        "target = Console(sys.stdout, sys.stderr)\n"
        "target.json({'text': '日本'})\n"
        "target.table(('A', 'B'), [('x', 'word ' * 100)]); target.block('word ' * 100)\n"
        "print('rich' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"


@rows(
    ("cause", "remedy", "shown"),
    [
        ("no store", "", "error: no store\n"),
        ("no store", "Make one.", "error: no store. Make one.\n"),
        ("one\ntwo", "", "error: one\nerror: two\n"),
    ],
)
def test_an_error_is_cause_and_remedy_on_one_line(cause: str, remedy: str, shown: str) -> None:
    target = console()
    target.error(cause, remedy)
    assert isinstance(target.err, io.StringIO)
    assert target.err.getvalue() == shown


def test_numbers_agree_with_their_noun() -> None:
    assert [counted(count, "memory", "memories") for count in (0, 1, 1200)] == [
        "0 memories",
        "1 memory",
        "1,200 memories",
    ]


def test_the_home_directory_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert short_path("/home/me/a") == "~/a"
    assert short_path("/home/menace/a") == "/home/menace/a"


@rows(
    ("seconds", "shown"),
    [(0.2, "0 s"), (59, "59 s"), (90, "1 min"), (3600, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_durations_read_well(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_import_progress_tells_rate_and_estimate() -> None:
    step = ImportProgress(3, 20, 12_300_000, 40_000_000, 140, 1_100_000.0, 25.0, "a.jsonl")
    assert describe(step) == (
        "3 of 20 files · 12.3 of 40.0 MB · 1.1 MB/s · 25 s left · 140 memories · a.jsonl"
    )


def test_import_progress_without_an_estimate_leaves_it_out() -> None:
    step = ImportProgress(0, 1, 0, 1_000_000, 0, 0.0, None, "")
    assert describe(step) == "0 of 1 file · 0.0 of 1.0 MB · 0.0 MB/s · 0 memories"


@rows(
    ("view", "out", "err"),
    [
        ("a line", "a line\n", ""),
        (("", None, False, [], True), "", ""),
        (
            [Line("one", "bold"), ["two", (BLANK, Parts([("a",), ("b",)]))]],
            "one\ntwo\n\na  b\n",
            "",
        ),
        (lambda _: [Note("beside"), lambda _: "made late"], "made late\n", "beside\n"),
        (Table(("A", "B"), [], empty="none"), "none\n", ""),
    ],
)
def test_a_view_is_printed_in_order_without_what_is_empty(view: View, out: str, err: str) -> None:
    target = console()
    target.show(view)
    assert isinstance(target.err, io.StringIO)
    assert (printed(target), target.err.getvalue()) == (out, err)


class Kind(Enum):
    OWN = "own"


@dataclass
class Record:
    name: str = ""
    kind: Kind = Kind.OWN
    at: datetime | None = datetime(2026, 1, 31, tzinfo=UTC)
    tags: tuple[str, ...] = ("a",)
    path: Path = Path("/x")
    part: "Record | None" = None


@rows(
    ("names", "shape"),
    [
        ("name kind", {"name": "", "kind": "own"}),
        ("name? kind?", {"name": None, "kind": "own"}),
        ("when=at tags path", {"when": "2026-01-31T00:00:00+00:00", "tags": ["a"], "path": "/x"}),
        ("kind=part.kind none=part.at?", {"kind": "own", "none": None}),
    ],
)
def test_the_fields_of_a_record_are_json_values(names: str, shape: dict[str, object]) -> None:
    assert fields(Record(part=Record(at=None)), names) == shape


def test_a_list_is_json_and_a_table() -> None:
    answer = listing("all", [Record("x")], "name", {"NAME": lambda each: each.name}, empty="none")
    target = console()
    target.show(answer.text)
    assert (answer.json, printed(target)) == ({"all": [{"name": "x"}]}, "NAME\nx\n")
