"""The watcher on a real file system: nothing is lost at rest, and nothing outside is read."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.skills import watcher as watching
from synthorg_tui.skills.disk import remove_skill, write_skill
from synthorg_tui.skills.document import RootScope, SkillChange, SkillFile, SkillRoot
from synthorg_tui.skills.library import SkillLibrary, Survey
from synthorg_tui.skills.watcher import SkillWatcher
from tests.odd_files import put_odd_kinds, put_odd_names
from tests.patience import PATIENCE, until

TEXT = '---\nname: {name}\ndescription: "Use when {why}."\n---\n\nDo it.\n'


class Seen:
    """What was told, and the files as they follow from it."""

    def __init__(self, files: tuple[SkillFile, ...]) -> None:
        self.changes: list[SkillChange] = []
        self.files = {file.path.parent: file for file in files}
        self._told = asyncio.Event()

    def take(self, changes: tuple[SkillChange, ...]) -> None:
        for change in changes:
            assert change.before or change.after
            if change.before is not None:
                assert self.files.pop(change.before.path.parent) == change.before
            if change.after is not None:
                self.files[change.after.path.parent] = change.after
            self.changes.append(change)
        self._told.set()

    def texts(self) -> dict[str, str]:
        return {file.name: file.text for file in self.files.values()}

    async def until(self, is_so: Callable[["Seen"], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so(self):
                self._told.clear()
                await self._told.wait()


def put(root: Path, name: str, why: str = "asked") -> Path:
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(name=name, why=why))
    return path


class Surveys:
    """Counts the looks at the folders."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ended, survey = 0, SkillLibrary.survey

        def counted(library: SkillLibrary) -> Survey:
            found = survey(library)
            self.ended += 1
            return found

        monkeypatch.setattr(SkillLibrary, "survey", counted)

    async def more(self) -> None:
        """Wait until one that begins from now on has ended."""
        enough = self.ended + 2
        await until(lambda: self.ended >= enough)


@asynccontextmanager
async def watched(*roots: Path) -> AsyncIterator[Seen]:
    library = SkillLibrary([SkillRoot(root, RootScope.USER) for root in roots])
    known = library.scan()
    seen, stop = Seen(known), asyncio.Event()

    async def follow() -> None:
        async for changes in SkillWatcher(library).changes(stop, since=known):
            seen.take(changes)

    task = asyncio.create_task(follow())
    try:
        yield seen
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE):
            await task


async def test_what_is_new_edited_and_gone_is_told(tmp_path: Path) -> None:
    path = put(tmp_path, "push")
    async with watched(tmp_path) as seen:
        put(tmp_path, "pull")
        await seen.until(lambda seen: "pull" in seen.texts())
        path.write_text(TEXT.format(name="push", why="edited"))
        await seen.until(lambda seen: "edited" in seen.texts()["push"])
        shutil.rmtree(path.parent)
        await seen.until(lambda seen: "push" not in seen.texts())
    kinds = [(change.before is None, change.after is None) for change in seen.changes]
    assert kinds == [(True, False), (False, False), (False, True)]


async def test_odd_names_and_kinds_of_files_do_not_end_it(tmp_path: Path) -> None:
    put_odd_names(tmp_path, "", b"no folder")
    put_odd_kinds(tmp_path, "")
    (tmp_path / os.fsdecode(b"folder\xff")).mkdir()
    async with watched(tmp_path) as seen:
        put(tmp_path, "pull")
        await seen.until(lambda seen: "pull" in seen.texts())
        (tmp_path / os.fsdecode(b"later\xff")).mkdir()
        put(tmp_path, "push")
        await seen.until(lambda seen: "push" in seen.texts())


async def test_what_changed_before_it_began_is_told_too(tmp_path: Path) -> None:
    library = SkillLibrary([SkillRoot(tmp_path, RootScope.USER)])
    put(tmp_path, "push")
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE):
        first = await anext(SkillWatcher(library).changes(stop, since=()))
    assert [change.before for change in first] == [None]


async def test_it_ends_when_asked_although_nothing_changes(tmp_path: Path) -> None:
    async with watched(tmp_path, tmp_path / "none") as seen:
        pass
    assert seen.changes == []


async def test_two_hundred_rapid_edits_end_with_the_last(tmp_path: Path) -> None:
    names = [f"skill-{number}" for number in range(5)]
    for name in names:
        put(tmp_path, name)
    async with watched(tmp_path) as seen:
        for edit in range(200):
            put(tmp_path, names[edit % 5], why=f"edit {edit:03}")
            if edit % 20 == 0:
                await asyncio.sleep(0.01)
        last = {name: (tmp_path / name / "SKILL.md").read_text() for name in names}
        await seen.until(lambda seen: seen.texts() == last)
    assert len(seen.changes) < 200


async def test_edits_of_the_same_length_are_told_apart(tmp_path: Path) -> None:
    path = put(tmp_path, "push", why="a" * 9)
    async with watched(tmp_path) as seen:
        for letter in "bcdefg":
            path.write_text(TEXT.format(name="push", why=letter * 9))
            await asyncio.sleep(0.15)
        await seen.until(lambda seen: "ggg" in seen.texts()["push"])


async def test_renames_are_told_as_gone_and_new(tmp_path: Path) -> None:
    put(tmp_path, "old")
    async with watched(tmp_path) as seen:
        (tmp_path / "old").rename(tmp_path / "new")
        await seen.until(lambda seen: list(seen.texts()) == ["new"])


async def test_a_file_replaced_by_a_rename_is_told(tmp_path: Path) -> None:
    write_skill(tmp_path, "push", TEXT.format(name="push", why="one"))
    async with watched(tmp_path) as seen:
        for number in range(20):
            write_skill(tmp_path, "push", TEXT.format(name="push", why=f"write {number}"))
        await seen.until(lambda seen: "write 19" in seen.texts()["push"])
        remove_skill(tmp_path, "push")
        await seen.until(lambda seen: not seen.texts())


async def test_a_half_written_save_is_told_once_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two looks of the watcher the editor writes some more, until it is done."""
    monkeypatch.setattr(watching, "QUIET_SECONDS", 0)
    monkeypatch.setattr(watching, "MAX_UNREST_SECONDS", PATIENCE)
    whole = TEXT.format(name="push", why="saved whole") + "x\n" * 50
    parts = [whole[start : start + 20] for start in range(0, len(whole), 20)]
    path = tmp_path / "push" / "SKILL.md"
    path.parent.mkdir()
    survey = SkillLibrary.survey

    def write_and_survey(library: SkillLibrary) -> Survey:
        if parts:
            with path.open("a") as file:
                file.write(parts.pop(0))
        return survey(library)

    async with watched(tmp_path) as seen:
        monkeypatch.setattr(SkillLibrary, "survey", write_and_survey)
        await seen.until(lambda seen: seen.texts() == {"push": whole})
    assert len(seen.changes) == 1


async def test_a_save_that_never_ends_is_told_as_it_is(tmp_path: Path) -> None:
    async with watched(tmp_path) as seen:
        path = put(tmp_path, "log")
        with path.open("a") as file:
            async with asyncio.timeout(PATIENCE):
                while not seen.changes:
                    file.write("more\n")
                    file.flush()
                    await asyncio.sleep(0.02)


async def test_a_root_that_appears_later_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_ANYWAY_MS", 500)
    root = tmp_path / "later" / "skills"
    async with watched(root) as seen:
        put(root, "push")
        await seen.until(lambda seen: "push" in seen.texts())
        shutil.rmtree(root)
        await seen.until(lambda seen: not seen.texts())
        put(root, "again")
        await seen.until(lambda seen: "again" in seen.texts())


async def test_a_root_that_can_not_be_read_has_lost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_ANYWAY_MS", 500)
    surveys = Surveys(monkeypatch)
    root = tmp_path / "root"
    put(root, "push")
    async with watched(root) as seen:
        root.rename(tmp_path / "aside")
        root.write_text("in the way")
        await surveys.more()
        root.unlink()
        (tmp_path / "aside").rename(root)
        put(root, "pull")
        await seen.until(lambda seen: "pull" in seen.texts())
    assert [change.after is None for change in seen.changes] == [False]


async def test_links_and_what_they_lead_to_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    secret = put(outside, "secret", why="nobody may know")
    root.mkdir()
    opened: list[object] = []
    real = os.open

    def spy(path: str, *args: int, dir_fd: int | None = None) -> int:
        opened.append(path)
        return real(path, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", spy)
    async with watched(root) as seen:
        (root / "folder").symlink_to(secret.parent)
        (root / "file").mkdir()
        (root / "file" / "SKILL.md").symlink_to(secret)
        await seen.until(lambda seen: len(seen.texts()) == 2)
        secret.write_text("changed outside")
        put(root, "last")
        await seen.until(lambda seen: "last" in seen.texts())
    assert len(seen.changes) == 3
    assert [text for name, text in seen.texts().items() if name != "last"] == ["", ""]
    assert not any("outside" in str(path) or path == "secret" for path in opened)


async def test_huge_and_binary_files_do_no_harm(tmp_path: Path) -> None:
    async with watched(tmp_path) as seen:
        huge = put(tmp_path, "huge")
        with huge.open("wb") as file:
            for _ in range(50):
                file.write(b"x" * 1_000_000)
        put(tmp_path, "binary").write_bytes(os.urandom(5_000))
        put(tmp_path, "plain")
        await seen.until(lambda seen: len(seen.texts()) == 3)
        await seen.until(lambda seen: seen.texts()["huge"] == "")
        huge.write_text(TEXT.format(name="huge", why="small again"))
        await seen.until(lambda seen: "small again" in seen.texts()["huge"])
    by_name = {file.name: file for file in seen.files.values()}
    assert by_name["binary"].document is None
    assert by_name["plain"].document is not None


async def test_many_skills_coming_and_going_end_as_they_are_on_disk(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "b")
    async with watched(*roots) as seen:
        for turn in range(60):
            root, name = roots[turn % 2], f"skill-{turn % 7}"
            if turn % 3 == 2:
                shutil.rmtree(root / name, ignore_errors=True)
            else:
                put(root, name, why=f"turn {turn}")
            await asyncio.sleep(0.01)
        on_disk = {path.parent: path.read_text() for path in tmp_path.glob("*/*/SKILL.md")}
        await seen.until(lambda seen: {p: f.text for p, f in seen.files.items()} == on_disk)


async def test_without_watches_it_looks_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_ANYWAY_MS", 100)

    async def refuse(*_: object) -> AsyncIterator[None]:
        raise OSError("no watches left")
        yield

    monkeypatch.setattr(watching, "_events", refuse)
    async with watched(tmp_path) as seen:
        put(tmp_path, "push")
        await seen.until(lambda seen: "push" in seen.texts())
