"""``skills`` on a real store and real folders."""

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.engine import Engine
from synthorg_tui.settings.loader import shipped_settings
from tests.cli.cli_kit import Result, documented, move_home, runner
from tests.curation.review_kit import PERSON, item_of, lesson
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal, without_terminal

SHIPPED = ("agent-memory", "review-lessons")
TEXT = '---\nname: {name}\ndescription: "Use when {name} is asked for."\n---\n\nDo it.\n'


@dataclass(frozen=True)
class Home:
    """A home directory with a data directory in it."""

    path: Path
    run: Callable[..., Result]

    @property
    def data_dir(self) -> Path:
        return self.path / "desk"

    def put(self, name: str, text: str = "", *, root: str = ".claude/skills") -> Path:
        path = self.path / root / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or TEXT.format(name=name))
        return path

    def adopt(self) -> Path:
        """Approve a lesson; the file that was written."""
        asyncio.run(_adopt(self.data_dir))
        (path,) = (self.data_dir / "skills").glob("*/SKILL.md")
        return path

    def listed(self) -> dict[str, Any]:
        return {each["name"]: each for each in self.run("skills", "list", "--json").json["skills"]}


async def _adopt(data_dir: Path) -> None:
    async with Engine.open(shipped_settings(), data_dir=data_dir) as engine:
        item = item_of(lesson())
        await engine.approvals.add(item)
        review = await engine.reviews.review(item.id)
        await engine.reviews.approve(item.id, shown=review.shown, person=PERSON)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Home:
    move_home(monkeypatch, tmp_path)

    return Home(tmp_path, runner(tmp_path / "desk", capfd))


class TestList:
    def test_without_skills_it_says_where_they_would_be(self, home: Home) -> None:
        result = home.run("skills", "list")
        assert result.code == 0
        assert "~/.claude/skills" in result.out
        assert "come from approved proposals" in result.out

    def test_those_that_come_with_the_app_are_not_in_force(self, home: Home) -> None:
        listed = home.listed()
        assert {name: each["state"] for name, each in listed.items()} == dict.fromkeys(
            SHIPPED, "shipped"
        )
        assert {each["scope"] for each in listed.values()} == {"shipped"}
        assert home.run("skills", "sync").out == "Nothing changed.\n"
        (offered,) = home.run("skills", "review", SHIPPED[0], "--json").json["skills"]
        assert offered["path"] == listed[SHIPPED[0]]["path"]
        assert offered["item"]
        shown = home.run("skills", "show", SHIPPED[0], "--json").json
        assert (shown["state"], shown["waiting"]) == ("shipped", offered["item"])

    def test_the_json_has_the_documented_fields(self, home: Home) -> None:
        home.adopt()
        made, example = home.run("skills", "list", "--json").json, documented("skills list")
        assert made.keys() == example.keys()
        assert made["roots"][0].keys() == example["roots"][0].keys()
        assert made["skills"][0].keys() == example["skills"][0].keys()

    def test_each_skill_has_its_state(self, home: Home) -> None:
        adopted = home.adopt().parent.name
        home.put("theirs")
        home.put("broken", "nothing")
        states = {name: each["state"] for name, each in home.listed().items()}
        ours = {adopted: "valid", "theirs": "found", "broken": "invalid"}
        assert states == ours | dict.fromkeys(SHIPPED, "shipped")

    def test_the_skills_of_a_project_come_first(self, home: Home) -> None:
        session = home.path / "session.jsonl"
        record = {"type": "user", "sessionId": "s", "uuid": "u", "cwd": str(home.path / "work")}
        message = {"role": "user", "content": "Please always run the tests."}
        session.write_text(json.dumps({**record, "message": message}) + "\n")
        assert home.run("import", str(session)).code == 0
        home.put("release", root="work/.claude/skills")
        home.put("release")
        found = home.run("skills", "list", "--json").json["skills"]
        assert [(each["scope"], each["state"]) for each in found] == [
            ("project", "found"),
            ("user", "shadowed"),
            *[("shipped", "shipped")] * len(SHIPPED),
        ]

    def test_what_a_file_says_can_not_act_on_the_terminal(self, home: Home) -> None:
        home.put("evil", '---\nname: evil\ndescription: "\\x1b[2Jgone"\n---\n\n\x1b[2J\n')
        for command in (("list",), ("show", "evil"), ("validate",)):
            assert "\x1b[2J" not in home.run("skills", *command).out


class TestShow:
    def test_a_skill_is_shown_by_name_and_by_path(self, home: Home) -> None:
        path = home.put("theirs")
        by_name = home.run("skills", "show", "theirs")
        assert "Do it." in by_name.out
        assert home.run("skills", "show", str(path)).out == by_name.out
        assert home.run("skills", "show", str(path.parent)).out == by_name.out

    def test_problems_are_told_with_their_lines_marked(self, home: Home) -> None:
        home.put("theirs", TEXT.format(name="other"))
        out = home.run("skills", "show", "theirs").out
        assert "line 2: warning: The name 'other'" in out
        assert "   2 ! name: other" in out

    def test_the_json_has_the_documented_fields(self, home: Home) -> None:
        name = home.adopt().parent.name
        made = home.run("skills", "show", name, "--json").json
        listed = documented("skills list")["skills"][0]
        assert made.keys() == {*listed, *documented("skills show")}
        assert made["taught_by"][0]["lines"] == "claude-code:one#L12-L20"
        assert made["versions"][0]["event"] == "written"

    def test_a_name_that_is_nowhere_is_told(self, home: Home) -> None:
        result = home.run("skills", "show", "none")
        assert result.code == 2
        assert "skills list" in result.err


class TestValidate:
    def test_a_valid_skill_has_nothing_wrong(self, home: Home) -> None:
        path = home.put("theirs")
        result = home.run("skills", "validate", str(path))
        assert (result.code, result.out) == (0, "1 skill, nothing wrong.\n")

    def test_every_problem_is_told_with_file_and_line(self, home: Home) -> None:
        path = home.put("theirs", "---\nname: theirs\nauthor: me\n---\n\nDo it.\n")
        result = home.run("skills", "validate", str(path.parent))
        assert result.code == 1
        assert f"{path}:1: error: There is no description. Add description" in result.out
        assert f"{path}:3: warning: 'author' is no field" in result.out
        assert result.out.endswith("1 skill, 1 error, 1 warning.\n")

    def test_warnings_count_only_when_strict(self, home: Home) -> None:
        path = home.put("theirs", TEXT.format(name="other"))
        assert home.run("skills", "validate", str(path)).code == 0
        assert home.run("skills", "validate", "--strict", str(path)).code == 1

    def test_a_folder_of_skills_is_checked_whole(self, home: Home) -> None:
        home.put("one")
        home.put("two", "nothing")
        made = home.run("skills", "validate", str(home.path / ".claude/skills"), "--json").json
        assert [each["ok"] for each in made["skills"]] == [True, False]
        example = documented("skills validate")
        assert made.keys() == example.keys()
        assert made["skills"][1].keys() == example["skills"][0].keys()
        finding = example["skills"][0]["findings"][0]
        assert made["skills"][1]["findings"][0].keys() == finding.keys()

    def test_without_paths_all_skills_are_checked(self, home: Home) -> None:
        home.adopt()
        home.put("theirs")
        assert home.run("skills", "validate").out == "4 skills, nothing wrong.\n"

    @pytest.mark.parametrize("path", ["none", "empty", "file.md"])
    def test_what_is_no_skill_is_told(self, home: Home, path: str) -> None:
        (home.path / "empty").mkdir()
        (home.path / "file.md").write_text("")
        result = home.run("skills", "validate", str(home.path / path))
        assert result.code == 2
        assert path in result.err


class TestSync:
    def test_a_change_comes_up_once(self, home: Home) -> None:
        home.run("skills", "sync")
        home.put("theirs")
        first = home.run("skills", "sync", "--json").json
        assert first.keys() == documented("skills sync").keys()
        assert len(first["added"]) == 1
        assert home.listed()["theirs"]["waiting"] == first["added"][0]
        assert home.run("skills", "sync").out == "Nothing changed.\n"

    def test_what_is_no_longer_so_is_withdrawn(self, home: Home) -> None:
        home.run("skills", "sync")
        path = home.put("theirs")
        assert "1 change up for review" in home.run("skills", "sync").out
        path.unlink()
        assert "1 item withdrawn" in home.run("skills", "sync").out


class TestReview:
    def test_what_was_here_before_comes_up_when_somebody_asks(self, home: Home) -> None:
        home.put("theirs")
        home.put("other")
        assert "2 skills lay here already" in home.run("skills", "sync").out
        assert home.run("skills", "sync").out == "Nothing changed.\n"
        reply = home.run("skills", "review", "theirs", "--json").json
        (offered,) = reply["skills"]
        listed = home.listed()
        assert offered.keys() == documented("skills review")["skills"][0].keys()
        assert listed["theirs"]["waiting"] == offered["item"]
        assert (listed["theirs"]["state"], listed["other"]["state"]) == ("new", "found")

    def test_what_is_decided_already_is_told(self, home: Home) -> None:
        name = home.adopt().parent.name
        assert "nothing to decide" in home.run("skills", "review", name).out


class TestPurge:
    def test_a_skill_goes_with_its_memory_once_that_is_confirmed(self, home: Home) -> None:
        path = home.adopt()
        (memory,) = home.run("memories", "list", "--json").json["memories"]
        asked = home.run("memories", "purge", memory["id"])
        assert asked.code == 2
        assert f"Skill {path.parent.name} goes" in asked.err
        assert path.exists()
        done = home.run("memories", "purge", memory["id"], "--yes", "--json").json
        nothing = {"left": [], "forgotten": [], "remains": "", "deleted_copies": [], "copies": []}
        assert done == {"purged": 1, "removed": [str(path)]} | nothing
        files = [file for file in home.data_dir.rglob("*") if file.is_file()]
        assert not [file for file in files if b"upstream" in file.read_bytes()]
        assert tuple(home.listed()) == SHIPPED

    def test_a_file_that_stays_is_told(self, home: Home) -> None:
        home.run("skills", "sync")
        path = home.adopt()
        path.write_text(path.read_text() + "Mine.\n")
        (memory,) = home.run("memories", "list", "--json").json["memories"]
        result = home.run("memories", "purge", memory["id"], "--yes")
        assert "stays: edited since" in result.err
        assert home.run("skills", "sync").out == "Nothing changed.\n"


class TestRestore:
    def program(self, home: Home, *arguments: str) -> list[str]:
        return ["-m", "synthorg_tui", "--data-dir", str(home.data_dir), *arguments]

    @files_only
    def test_skills_that_are_gone_are_written_again_once_the_person_agrees(
        self, home: Home
    ) -> None:
        path = home.adopt()
        content = path.read_bytes()
        assert home.run("skills", "restore").out == "No skill's file is gone.\n"
        assert home.run("skills", "restore", path.parent.name).code == 2
        shutil.rmtree(path.parent)
        assert home.listed()[path.parent.name]["state"] == "gone"
        restore = self.program(home, "skills", "restore", "--json")
        assert at_terminal(restore, answers={"[y/N]": "\n"}).code == 130
        assert not path.exists()
        ran = at_terminal(restore, answers={"Write 1 file?": "y\n"}, piped=True)
        assert ran.code == 0
        assert json.loads(ran.out).keys() == documented("skills restore").keys()
        assert json.loads(ran.out) == {"written": [str(path)], "refused": []}
        assert path.read_bytes() == content
        assert home.listed()[path.parent.name]["state"] == "valid"
        undone = at_terminal(
            self.program(home, "proposals", "undo"), answers={"Type undo:": "undo\n"}
        )
        assert undone.code == 0
        assert not path.exists()

    @files_only
    def test_a_skill_is_retired_once_the_person_agrees_and_brought_back(self, home: Home) -> None:
        path = home.adopt()
        retire = self.program(home, "skills", "retire", path.parent.name, "--json")
        assert at_terminal(retire, answers={"[y/N]": "\n"}).code == 130
        assert path.exists()
        assert without_terminal(retire).code == 1
        ran = at_terminal(retire, answers={"Retire it?": "y\n"}, piped=True)
        assert json.loads(ran.out).keys() == documented("skills retire").keys()
        assert json.loads(ran.out) == {"retired": str(path)}
        assert not path.exists()
        assert home.run("memories", "list", "--json").json["memories"] == []
        undo = self.program(home, "proposals", "undo")
        assert at_terminal(undo, answers={"Type undo:": "undo\n"}).code == 0
        assert path.exists()

    @files_only
    def test_without_a_person_nothing_is_written(self, home: Home) -> None:
        path = home.adopt()
        shutil.rmtree(path.parent)
        ran = without_terminal(self.program(home, "skills", "restore"))
        assert ran.code == 1
        assert not path.exists()

    @files_only
    def test_a_file_that_came_meanwhile_is_left_alone(self, home: Home) -> None:
        path = home.adopt()
        shutil.rmtree(path.parent)

        def meanwhile() -> str:
            home.put(path.parent.name, "a stranger's", root="desk/skills")
            return "y\n"

        ran = at_terminal(
            self.program(home, "skills", "restore"), answers={"Write 1 file?": meanwhile}
        )
        assert ran.code == 1
        assert path.read_text() == "a stranger's"


def test_it_asks_the_app_that_has_the_store_open(home: Home) -> None:
    """The answers of an owner are those of an engine of our own."""
    from synthorg_tui.host.headless import serve

    home.put("theirs")
    alone = home.run("skills", "list", "--json").json

    async def asked() -> Result:
        stop, ready = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(
            serve(
                shipped_settings(),
                data_dir=home.data_dir,
                stop=stop,
                on_ready=lambda _: ready.set(),
            )
        )
        await ready.wait()
        try:
            return await asyncio.to_thread(home.run, "skills", "list", "--json")
        finally:
            stop.set()
            await serving

    assert asyncio.run(asked()).json == alone


def test_hints_about_a_lesson_are_silenced_by_its_name(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    path = home.adopt()
    name = path.parent.name
    silenced = home.run("hints", "silence", "lesson", name, "--json").json
    assert (silenced["kind"], silenced["subject"]) == ("lesson", str(path))
    assert home.run("hints", "unsilence", "lesson", name).code == 0
    assert home.run("hints").out == "Nothing is silenced.\n"
