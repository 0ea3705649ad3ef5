"""Lines of a client: as they come, but none longer than allowed."""

import io

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.mcp.stdio import BoundedLines
from tests.tables import rows

LIMIT = 8


async def read(data: bytes, limit: int = LIMIT) -> list[str]:
    """What comes out; a refusal as ``-``."""
    found: list[str] = []

    async def refuse() -> None:
        found.append("-")

    async for line in BoundedLines(io.BytesIO(data), refuse=refuse, limit=limit):
        found.append(line)
    return found


@rows(
    ("data", "found"),
    [
        (b"", []),
        (b"a\nb\n", ["a\n", "b\n"]),
        (b"a\nb", ["a\n", "b"]),
        (b"1234567\nb\n", ["1234567\n", "b\n"]),
        (b"12345678\nb\n", ["-", "b\n"]),
        (b"1234567", ["1234567"]),
        (b"12345678", ["-"]),
        (b"x" * 100 + b"\nb\n", ["-", "b\n"]),
        (b"x" * 100, ["-"]),
        (b"\n\n", ["\n", "\n"]),
        (b"\xff\n", ["\N{REPLACEMENT CHARACTER}\n"]),
    ],
)
async def test_a_line_comes_whole_or_is_refused(data: bytes, found: list[str]) -> None:
    assert await read(data) == found


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))))
async def test_nothing_is_lost_that_is_short_enough(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    fits = [len(line) < LIMIT for line in lines]
    expected = [
        f"{line.decode('utf-8', 'replace')}\n" if fit else "-"
        for line, fit in zip(lines, fits, strict=True)
    ]
    assert await read(data) == expected
