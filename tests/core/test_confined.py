"""Files of one folder: whatever a path says and whatever is made meanwhile, nothing leads out."""

import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.core.confined import (
    ConfinedFolder,
    ConfinedPathError,
    as_text,
    with_replacement,
)
from tests.soak import points
from tests.tables import rows

SECRET = b"outside"
LIMIT = 1_000


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file outside of it, and links to what is outside."""
    base = tmp_path_factory.mktemp("confined")
    root = base / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "inside.txt").write_bytes(b"inside")
    (base / "outside.txt").write_bytes(SECRET)
    (base / "root-beside").mkdir()
    (base / "root-beside" / "outside.txt").write_bytes(SECRET)
    (root / "link.txt").symlink_to(base / "outside.txt")
    (root / "linked").symlink_to(base)
    (root / "sub" / "up").symlink_to("..")
    return root


PARTS = st.sampled_from(
    (
        *("..", ".", "", "sub", "deep", "up", "linked", "link.txt", "inside.txt", "outside.txt"),
        *("~", "root", "root-beside", "new", "a\0b", "e\u202etxt", "x" * 300, "%2e%2e", "..\\.."),
    )
)


class TestPaths:
    @given(parts=st.lists(PARTS, max_size=8), is_absolute=st.booleans())
    @settings(max_examples=points(60, 300), deadline=None)
    def test_no_path_reads_what_is_outside(
        self, workspace: Path, parts: list[str], is_absolute: bool
    ) -> None:
        path = "/".join([str(workspace), *parts] if is_absolute else parts)
        folder = ConfinedFolder(workspace)
        try:
            content = folder.read(path, limit=LIMIT)
        except ConfinedPathError:
            return
        assert content == b"inside"

    @given(parts=st.lists(PARTS, min_size=1, max_size=6))
    @settings(max_examples=points(40, 150), deadline=None)
    def test_no_path_writes_what_is_outside(self, workspace: Path, parts: list[str]) -> None:
        def outside() -> dict[str, bytes]:
            files = workspace.parent.rglob("*")
            kept = (each for each in files if workspace not in each.parents and each.is_file())
            return {str(each): each.read_bytes() for each in kept if not each.is_symlink()}

        before = outside()
        with suppress(ConfinedPathError):
            ConfinedFolder(workspace).write("/".join(parts), b"inside")
        assert outside() == before
        assert (workspace / "linked").is_symlink()

    @given(text=st.text(max_size=60))
    @settings(max_examples=points(60, 200), deadline=None)
    def test_any_text_is_a_path_inside_or_refused_in_words(
        self, workspace: Path, text: str
    ) -> None:
        problem, names = " ", tuple[str, ...]()
        try:
            names = ConfinedFolder(workspace).parts(text)
        except ConfinedPathError as error:
            problem = error.message
        assert problem.isprintable()
        assert ".." not in names
        assert all(name and "/" not in name for name in names)

    @rows(
        ("path", "why"),
        [
            ("../outside.txt", "is outside of the workspace"),
            ("/etc/passwd", "is outside of the workspace"),
            ("link.txt", "has a link in it"),
            ("linked/outside.txt", "has a link in it"),
            ("sub/up/sub/inside.txt", "has a link in it"),
            ("sub", "is a folder"),
            (".", "is no file"),
            ("nothing.txt", "doesn't exist"),
            ("sub/inside.txt/more", "has a part that is no folder"),
            ("a\x1b[2Jb", "control or invisible characters"),
            ("a\u200bb", "control or invisible characters"),
            ("a/" * 200, "too deep"),
            ("x" * 300, "too long"),
        ],
    )
    def test_what_is_refused_is_told_in_words(self, workspace: Path, path: str, why: str) -> None:
        with pytest.raises(ConfinedPathError, match=why):
            ConfinedFolder(workspace).read(path, limit=LIMIT)

    def test_a_folder_that_begins_like_the_workspace_is_outside(self, workspace: Path) -> None:
        with pytest.raises(ConfinedPathError, match="outside of the workspace"):
            ConfinedFolder(workspace).read("../root-beside/outside.txt", limit=LIMIT)

    def test_an_absolute_path_inside_is_taken(self, workspace: Path) -> None:
        whole = str(workspace / "sub" / "inside.txt")
        assert ConfinedFolder(workspace).read(whole, limit=LIMIT) == b"inside"


class TestOddFiles:
    def test_a_pipe_is_refused_without_waiting_for_a_writer(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfinedPathError, match="a pipe, a socket or a device"):
            ConfinedFolder(tmp_path).read("pipe", limit=LIMIT)

    def test_a_pipe_is_not_written_over(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfinedPathError, match="a pipe, a socket or a device"):
            ConfinedFolder(tmp_path).write("pipe", b"x")

    @rows(("size", "fits"), [(LIMIT, True), (LIMIT + 1, False)])
    def test_a_file_is_read_up_to_the_limit(self, tmp_path: Path, size: int, fits: bool) -> None:
        (tmp_path / "file").write_bytes(b"x" * size)
        folder = ConfinedFolder(tmp_path)
        if fits:
            assert len(folder.read("file", limit=LIMIT)) == size
        else:
            with pytest.raises(ConfinedPathError, match="too large"):
                folder.read("file", limit=LIMIT)

    def test_what_holds_no_text_is_told_with_its_size(self) -> None:
        with pytest.raises(ConfinedPathError, match=r"holds no text \(4 B of binary\)"):
            as_text(b"\x89PNG", "picture")
        with pytest.raises(ConfinedPathError, match="holds no text"):
            as_text(b"a\0b", "nul")


class TestRaces:
    def test_a_link_that_comes_and_goes_never_gives_what_is_outside(self, tmp_path: Path) -> None:
        """Another process swaps a folder for a link to one outside, as fast as it can."""
        root, away = tmp_path / "root", tmp_path / "away"
        (root / "real").mkdir(parents=True)
        away.mkdir()
        (root / "real" / "file").write_bytes(b"inside")
        (away / "file").write_bytes(SECRET)
        (root / "link").symlink_to(away)
        stop = threading.Event()

        def move(name: str, to: str) -> None:
            try:
                (root / name).rename(root / to)
            except OSError:  # writing has made the folder that was missing for a moment
                shutil.rmtree(root / to)
                (root / name).rename(root / to)

        def swap() -> None:
            while not stop.is_set():
                for name, to in (("real", "spare"), ("link", "real")):
                    move(name, to)
                for name, to in (("real", "link"), ("spare", "real")):
                    move(name, to)

        swapping = threading.Thread(target=swap)
        swapping.start()
        folder, seen = ConfinedFolder(root), set[bytes]()
        try:
            for number in range(600):
                try:
                    seen.add(folder.read("real/file", limit=LIMIT))
                    folder.write("real/new", f"{number}".encode())
                except ConfinedPathError:
                    continue
        finally:
            stop.set()
            swapping.join()
        assert seen <= {b"inside"}
        assert sorted(each.name for each in away.iterdir()) == ["file"]


class TestWriting:
    def test_the_mode_of_a_file_stays(self, tmp_path: Path) -> None:
        script = tmp_path / "run.sh"
        script.write_bytes(b"old")
        script.chmod(0o755)
        ConfinedFolder(tmp_path).write("run.sh", b"new")
        assert (script.read_bytes(), script.stat().st_mode & 0o777) == (b"new", 0o755)

    def test_missing_folders_are_made(self, tmp_path: Path) -> None:
        ConfinedFolder(tmp_path).write("a/b/c.txt", b"new")
        assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"new"

    def test_a_link_is_not_written_through(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "target").write_bytes(SECRET)
        (tmp_path / "root" / "link").symlink_to(tmp_path / "target")
        with pytest.raises(ConfinedPathError, match="links aren't followed"):
            ConfinedFolder(tmp_path / "root").write("link", b"x")
        assert (tmp_path / "target").read_bytes() == SECRET

    def test_nothing_is_left_beside_the_file(self, tmp_path: Path) -> None:
        ConfinedFolder(tmp_path).write("file", b"x")
        assert [each.name for each in tmp_path.iterdir()] == ["file"]


class TestReplacement:
    def test_a_text_that_occurs_once_is_replaced(self) -> None:
        assert with_replacement("a b c", "b", "x") == "a x c"

    def test_one_that_occurs_twice_needs_to_be_asked_for(self) -> None:
        with pytest.raises(ConfinedPathError, match="2 times"):
            with_replacement("b b", "b", "x")
        assert with_replacement("b b", "b", "x", everywhere=True) == "x x"

    @rows(
        ("old", "new", "why"),
        [("z", "x", "isn't in the file"), ("", "x", "is empty"), ("a", "a", "is the same")],
    )
    def test_what_changes_nothing_is_refused(self, old: str, new: str, why: str) -> None:
        with pytest.raises(ConfinedPathError, match=why):
            with_replacement("a b", old, new)

    def test_line_ends_of_windows_stay(self) -> None:
        assert with_replacement("a\r\nb\r\nc", "a\nb", "x\ny") == "x\r\ny\r\nc"
