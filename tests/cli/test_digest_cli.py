"""``digest`` and ``scenarios`` on a real store: the same bytes for CLI, JSON and pane."""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner
from tests.postgres_switch import files_only

TASK = "push a branch that has no upstream"
ASK = ("--agent", "claude-code", "--token-budget", "360")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        assert main(["import", str(SAMPLE), "--data-dir", str(home / "desk")]) == 0
        yield home / "desk"


@pytest.fixture
def cli(store: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    return runner(store, capfd)


def asked(**changed: object) -> Question:
    return Question.model_validate(
        {"agent_id": "claude-code", "query": TASK, "token_budget": 360, **changed}
    )


def place(cli: Cli) -> Visibility:
    """Where the agent works by default."""
    project = cli("digest", TASK, *ASK, "--json").json["project"]
    assert project is not None
    return Visibility(None, project)


async def pane_answer(store: Path, question: Question) -> str:
    host = LocalEngineHost(data_dir=store)
    desk = await host.open()
    try:
        return (await desk.digests.digest(question)).text
    finally:
        await host.close()


class TestDigest:
    def test_the_json_has_the_documented_fields(self, cli: Cli) -> None:
        made, example = cli("digest", TASK, *ASK, "--json").json, documented("digest")
        assert made.keys() == example.keys()
        assert made["candidates"][0].keys() == example["candidates"][0].keys()
        assert made["stages"][0].keys() == example["stages"][0].keys()

    def test_ids_counts_and_tokens_add_up(self, cli: Cli) -> None:
        made = cli("digest", TASK, *ASK, "--json").json
        included = [c for c in made["candidates"] if c["verdict"] in ("included", "pinned")]
        assert [c["id"] for c in included] == made["included"]
        assert made["included"]
        assert len({c["id"] for c in made["candidates"]}) == len(made["candidates"])
        assert all(c["reason"] for c in made["candidates"])
        assert made["tokens_used"] <= 360
        memories = sum(c["tokens"] for c in included)
        assert made["tokens_used"] == memories + made["frame_tokens"]

    def test_output_json_and_pane_are_the_same_bytes(self, cli: Cli, store: Path) -> None:
        import asyncio

        plain = cli("digest", TASK, *ASK).out
        text = cli("digest", TASK, *ASK, "--json").json["text"]
        shown = asyncio.run(pane_answer(store, asked(visibility=place(cli))))
        assert "upstream" in plain
        assert plain.encode() == text.encode() == shown.encode()

    def test_the_same_options_give_the_same_bytes_too(self, cli: Cli, store: Path) -> None:
        import asyncio

        candidates = cli("digest", TASK, *ASK, "--json").json["candidates"]
        first, last = candidates[0]["id"], candidates[-1]["id"]
        options = ("--set", "max_memories=2", "--exclude", first[:8], "--pin", last[:8])
        text = cli("digest", TASK, *ASK, *options, "--json").json
        question = asked(
            overrides={"max_memories": 2}, pinned=(last,), excluded=(first,), visibility=place(cli)
        )
        assert text["text"] == asyncio.run(pane_answer(store, question))
        assert last in text["included"]
        assert first not in text["included"]

    def test_explain_adds_every_candidate_with_its_reason_after_the_text(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "160")  # a narrower table cuts the reasons short
        text = cli("digest", TASK, *ASK).out
        explained = cli("digest", TASK, *ASK, "--explain").out
        made = cli("digest", TASK, *ASK, "--json").json
        assert explained.startswith(text)
        for candidate in made["candidates"]:
            assert candidate["id"][:8] in explained
        assert f"{made['tokens_used']} of 360 tokens" in explained
        authors = {candidate["author"] for candidate in made["candidates"]}
        assert authors == {"import", "knowledge"}
        assert " · an import · " in explained

    def test_what_is_no_longer_given_is_listed_below_the_candidates_for_a_person(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "160")  # a narrower table cuts the reasons short
        added = cli("memories", "add", "--agent", "former", "Polish the brass lantern.", "--json")
        key = added.json["id"]
        question = ("polish the lantern", "--agent", "former", "--token-budget", "360")
        before = cli("digest", *question, "--json").json
        assert (before["included"], before["former"]) == ([key], [])
        cli("memories", "delete", key, "--yes")
        made = cli("digest", *question, "--json").json
        assert made["candidates"] == []
        (former,) = made["former"]
        assert former.keys() == before["candidates"][0].keys()
        assert (former["id"], former["verdict"]) == (key, "deleted")
        assert re.fullmatch(r"deleted by .+ by a command on \d{4}-\d\d-\d\d", former["reason"])
        explained = cli("digest", *question, "--explain").out
        assert "No longer given, though they fit the question by words:" in explained
        assert f"{former['reason']} · " in explained
        assert "Polish the" in explained
        assert cli("digest", *question).out == ""
        monkeypatch.setenv("CLAUDECODE", "1")
        assert cli("digest", *question, "--json").json["former"] == []
        assert "Polish" not in cli("digest", *question, "--explain").out
        monkeypatch.undo()
        cli("memories", "purge", key, "--yes")
        why = cli("digest", *question, "--why", key[:8])
        assert re.match(rf"{key[:8]}  purged: erased for good by .+ on ", why.out)

    def test_why_says_in_one_line_what_becomes_of_one_memory(self, cli: Cli) -> None:
        made = cli("digest", TASK, *ASK, "--json").json
        for candidate in (made["candidates"][0], made["candidates"][-1]):
            key, verdict = candidate["id"], candidate["verdict"]
            plain = cli("digest", TASK, *ASK, "--why", key[:8])
            assert plain.out == f"{key[:8]}  {verdict}: {candidate['reason']}\n".replace("_", " ")
            answer = cli("digest", TASK, *ASK, "--why", key, "--json").json
            assert answer == {"id": key, "verdict": verdict, "reason": candidate["reason"]}
        unknown = cli("digest", TASK, *ASK, "--why", "0123456789")
        assert (unknown.code, unknown.out) == (0, "01234567  unknown: no memory has this id\n")

    def test_why_takes_the_start_of_one_id_only(self, cli: Cli) -> None:
        several = cli("digest", TASK, *ASK, "--why", "")
        assert several.code == 2
        assert "several ids start with ''" in several.err

    def test_what_nothing_is_about_prints_nothing_and_says_so_on_stderr(self, cli: Cli) -> None:
        result = cli("digest", "zebra quantum marmalade", *ASK)
        assert (result.code, result.out) == (0, "")
        assert "would be given no memory" in result.err
        unknown = cli("digest", TASK, "--agent", "nobody", "--token-budget", "360")
        assert "no agent 'nobody'" in unknown.err

    def test_control_characters_are_glyphs_on_a_terminal_and_in_a_pipe(
        self, store: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hostile = "The zanzibar beacon is \x1b[31mred\x1b[0m."
        added = cli("memories", "add", "--agent", "hostile", hostile, "--json").json["id"]
        question = ("zanzibar beacon", "--agent", "hostile", "--token-budget", "360")
        assert "␛[31mred" in cli("digest", *question).out

        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        assert main(["--data-dir", str(store), "digest", *question]) == 0
        monkeypatch.undo()
        assert "\x1b" not in screen.getvalue()
        assert "␛[31mred" in screen.getvalue()
        cli("memories", "purge", added, "--yes")

    def test_the_v1_digest_can_be_switched_on_for_a_question(self, cli: Cli, store: Path) -> None:
        import asyncio

        made = cli("digest", TASK, *ASK, "--set", "digest_v1=true", "--json").json
        question = asked(overrides={"digest_v1": True}, visibility=place(cli))
        assert "Memory digest:" in made["text"]
        assert made["text"] == asyncio.run(pane_answer(store, question))
        assert made["included"]

    def test_sensitivities_of_the_v1_digest_can_be_narrowed(self, cli: Cli) -> None:
        v1 = ("--set", "digest_v1=true", "--json")
        made = cli("digest", TASK, *ASK, *v1, "--set", "sensitivities=public").json
        assert made["included"] == []
        assert "sensitive" in {each["verdict"] for each in made["candidates"]}
        refused = cli("digest", TASK, *ASK, *v1, "--set", "sensitivities=secret")
        assert (refused.code, "'secret'" in refused.err) == (1, True)

    @pytest.mark.parametrize(
        ("option", "said"),
        [
            ("max_memories=0", "max_memories"),
            ("no_such=1", "no_such"),
            ("strategy=x", "strategy"),
            ("digest_v1=2", "digest_v1"),
        ],
    )
    def test_a_setting_that_can_not_be_is_an_error(self, cli: Cli, option: str, said: str) -> None:
        result = cli("digest", TASK, *ASK, "--set", option)
        assert (result.code, result.out) == (1, "")
        assert said in result.err

    @pytest.mark.parametrize("options", [("--set", "x"), ("--set", "a=[1]"), ("--strategy", "y")])
    def test_arguments_that_make_no_sense_exit_with_2(
        self, cli: Cli, options: tuple[str, ...]
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            cli("digest", TASK, *ASK, *options)
        assert stopped.value.code == 2


class TestPlace:
    def test_it_is_the_latest_project_unless_the_current_directory_is_one(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("first", "second"):
            folder = tmp_path / name / "inside"
            folder.mkdir(parents=True)
            text = f"The {name} lighthouse has {len(name)} lamps."
            cli("memories", "add", "--agent", "ole", "--project", str(folder.parent), text)
        question = ("digest", "lighthouse lamps", "--agent", "ole")
        latest = cli(*question)
        assert "second lighthouse" in latest.out
        assert "first lighthouse" not in latest.out
        assert f"as in {(tmp_path / 'second').resolve()}" in latest.err
        monkeypatch.chdir(tmp_path / "first" / "inside")
        here = cli(*question)
        assert "first lighthouse" in here.out
        assert "second lighthouse" not in here.out
        assert here.err == ""
        chosen = cli(*question, "--project", str(tmp_path / "second"))
        assert chosen.out == latest.out
        every = cli(*question, "--all-projects", "--json").json
        assert (every["project"], every["all_projects"], len(every["included"])) == (None, True, 2)
        assert every["token_budget"] == 1500

    def test_a_session_is_chosen_by_its_id(self, cli: Cli) -> None:
        made = cli("digest", TASK, *ASK, "--session", "s1", "--json").json
        assert made["session_id"] == "s1"
        both = cli("digest", TASK, *ASK, "--session", "s1", "--all-projects")
        assert both.code == 2

    def test_a_budget_without_room_for_the_frame_says_why(self, cli: Cli) -> None:
        small = cli("digest", TASK, "--agent", "claude-code", "--token-budget", "40")
        assert (small.code, small.out) == (0, "")
        assert "a budget of 40 tokens is too small" in small.err


class TestScenarios:
    def test_a_scenario_tells_when_an_agent_would_get_something_else(self, cli: Cli) -> None:
        saved = cli("scenarios", "save", "push", TASK, *ASK, "--json").json
        assert saved.keys() == documented("scenarios list")["scenarios"][0].keys()
        assert cli("scenarios", "list", "--json").json == {"scenarios": [saved]}
        same = cli("scenarios", "run", "--json")
        example = documented("scenarios run")
        assert (same.code, same.json["changed"]) == (0, 0)
        assert same.json["scenarios"][0].keys() == example["scenarios"][0].keys()

        gone = saved["expected"][-1]
        cli("memories", "delete", gone, "--yes")
        changed = cli("scenarios", "run", "--json")
        assert (changed.code, changed.json["changed"]) == (1, 1)
        assert changed.json["scenarios"][0]["removed"] == [gone]
        told = cli("scenarios", "run", "push")
        assert told.code == 1
        assert f"- {gone[:8]}  no longer considered" in told.out

        cli("memories", "restore", gone)
        assert cli("scenarios", "run").code == 0
        assert cli("scenarios", "delete", "push", "--json").json == {"deleted": 1}
        assert cli("scenarios", "delete", "push").code == 2
        assert cli("scenarios", "run", "push").code == 1

    @files_only
    def test_scenarios_survive_backup_and_restore(self, cli: Cli, tmp_path: Path) -> None:
        cli("scenarios", "save", "kept", TASK, *ASK, "--set", "min_relevance=0.2")
        before = cli("scenarios", "list", "--json").json
        cli("backup", str(tmp_path / "copy.duckdb"))
        cli("scenarios", "delete", "kept")
        cli("restore", str(tmp_path / "copy.duckdb"))
        assert cli("scenarios", "list", "--json").json == before
        assert before["scenarios"][0]["overrides"] == {"min_relevance": 0.2}
        cli("scenarios", "delete", "kept")
