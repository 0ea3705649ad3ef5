"""The command line on a real store: JSON shapes, exit codes, and what each command changes."""

import io
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.approvals.person import user_name
from synthorg_tui.cli import main
from synthorg_tui.persistence.lock import DataDirLock
from tests import REPO
from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner
from tests.patience import PATIENCE
from tests.postgres_switch import files_only

RUN = [sys.executable, "-c", "import sys; from synthorg_tui.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with the bundled sample; the user's own settings are out of reach."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        patch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
        patch.setenv("CODEX_HOME", str(home / "codex"))
        patch.setenv("PYTHONPATH", str(REPO))
        data = home / "desk"
        assert main(["import", str(SAMPLE), "--data-dir", str(data)]) == 0
        yield data


@pytest.fixture
def cli(store: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(store, capsys)


def add(cli: Cli, text: str, *more: str) -> str:
    memory_id: str = cli("memories", "add", "--agent", "tester", text, *more, "--json").json["id"]
    return memory_id


def shape(value: Any) -> Any:
    """Field names, all the way down; lists by their first item."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


class TestImport:
    def test_it_reports_what_it_did(self, cli: Cli, tmp_path: Path) -> None:
        done = cli("import", str(SAMPLE), "--json", data_dir=tmp_path / "new").json
        assert shape(done) == shape(documented("import"))
        assert done["files"] == len(list(SAMPLE.glob("*.jsonl")))
        assert done["memories_added"] > 0
        assert done["malformed_lines"] == 0
        assert done["calls"]["unknown"] == 0

    @pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
    def test_a_name_that_is_not_utf8_is_shown_and_the_rest_imported(
        self, cli: Cli, tmp_path: Path
    ) -> None:
        folder = tmp_path / "t"
        shutil.copytree(SAMPLE, folder)
        (folder / os.fsdecode(b"a\xff.jsonl")).write_text("{}\n")
        result = cli("import", str(folder), "--json", data_dir=tmp_path / "new")
        ((path, reason),) = [tuple(each.values()) for each in result.json["skipped"]]
        assert result.code == 0
        assert path == f"{folder}/a\\xff.jsonl"
        assert f"skipped {path}: {reason}" in result.err
        assert result.json["executions"] == len(list(SAMPLE.glob("*.jsonl")))

    def test_a_second_import_adds_nothing(self, cli: Cli) -> None:
        assert cli("import", str(SAMPLE), "--json").json["memories_added"] == 0
        assert "nothing new" in cli("import", str(SAMPLE)).out

    def test_a_path_that_does_not_exist_is_a_usage_error(self, cli: Cli) -> None:
        result = cli("import", "/does/not/exist")
        assert (result.code, result.out) == (2, "")
        assert result.err == "error: /does/not/exist: no such file or folder\n"

    def test_nothing_in_the_usual_places_is_said(self, cli: Cli) -> None:
        result = cli("import")
        assert result.code == 0
        assert "name a file or folder" in result.err


class TestSearch:
    def test_results_have_the_documented_shape(self, cli: Cli) -> None:
        found = cli("search", "push a branch that has no upstream", "--json").json
        assert shape(found) == shape(documented("search"))
        assert found["degraded"] is False
        assert "upstream" in found["results"][0]["content"]

    def test_a_source_is_a_file_and_its_lines(self, cli: Cli) -> None:
        (hit,) = cli("search", "no upstream branch", "--json", "--limit", "1").json["results"]
        source = hit["source"]
        lines = Path(source["path"]).read_text(encoding="utf-8").splitlines()
        named = lines[source["first_line"] - 1 : source["last_line"]]
        assert any("upstream" in line for line in named)
        assert source["ref"].endswith(f"#L{source['first_line']}-L{source['last_line']}")

    def test_a_memory_without_a_source_has_null(self, cli: Cli) -> None:
        add(cli, "The walrus prefers oysters on Tuesdays.")
        best = cli("search", "walrus oysters", "--json").json["results"][0]
        assert best["source"] is None

    def test_results_are_limited_ordered_and_filtered(self, cli: Cli) -> None:
        found = cli("search", "tests", "failed", "--json", "--agent", "claude-code").json
        scores = [hit["score"] for hit in found["results"]]
        assert scores == sorted(scores, reverse=True)
        assert {hit["agent_id"] for hit in found["results"]} == {"claude-code"}
        assert len(cli("search", "tests", "--json", "--limit", "1").json["results"]) <= 1

    def test_nothing_found_is_said_and_no_failure(self, cli: Cli) -> None:
        assert cli("search", "zeppelin bromide xylophone", "--json").json["results"] == []
        result = cli("search", "zeppelin bromide xylophone")
        assert (result.code, result.out) == (0, "No memory matches.\n")

    def test_an_agent_without_memories_is_named(self, cli: Cli) -> None:
        result = cli("search", "tests", "--agent", "nobody")
        assert (result.code, result.out) == (0, "No memory matches.\n")
        assert "nobody has no memories" in result.err

    def test_a_blank_query_is_a_usage_error(self, cli: Cli) -> None:
        result = cli("search", "  ")
        assert result.code == 2
        assert result.err.startswith("error: the query is empty")

    def test_a_range_that_is_none_is_a_usage_error(self, cli: Cli) -> None:
        result = cli("search", "x", "--since", "2026-02-01", "--until", "2026-01-01")
        assert result.code == 2
        assert "since must be before until" in result.err

    def test_people_see_text_place_and_id(self, cli: Cli) -> None:
        shown = cli("search", "no upstream branch", "--limit", "1").out
        hit = cli("search", "no upstream branch", "--limit", "1", "--json").json["results"][0]
        assert hit["id"][:8] in shown
        assert f"{Path(hit['source']['path']).name}:{hit['source']['first_line']}-" in shown


class TestMemories:
    def test_an_empty_store_says_where_memories_come_from(self, cli: Cli, tmp_path: Path) -> None:
        result = cli("memories", "list", data_dir=tmp_path / "new")
        assert (result.code, "synthorg-tui import" in result.out) == (0, True)
        assert "No memory matches" in cli("memories", "list", "--tag", "nosuch").out

    def test_an_option_that_does_not_exist_is_named(self, cli: Cli) -> None:
        words = ("digest", "push", "--agent", "codex", "--token-budget", "100")
        result = cli(*words, "--set", "foo=1")
        assert result.code == 1
        assert "memory.retrieval has no setting 'foo'" in result.err

    def test_a_list_is_a_window_with_the_total(self, cli: Cli) -> None:
        listed = cli("memories", "list", "--json", "--limit", "1", "--agent", "claude-code").json
        expected = documented("memories list")
        assert set(listed) == set(expected)
        assert set(listed["memories"][0]) == set(expected["memories"][0])
        assert len(listed["memories"]) == 1 < listed["total"]
        assert "1 of " in cli("memories", "list", "--limit", "1").out

    def test_a_list_is_filtered_by_words(self, cli: Cli) -> None:
        kept = add(cli, "Herons stand still.", "--tags", "birds,still")
        add(cli, "Herons stand and swim.", "--tags", "birds")
        options = ("--tag", "birds", "--word", "herons", "--without", "swim")
        listed = cli("memories", "list", *options, "--json").json["memories"]
        assert [memory["id"] for memory in listed] == [kept]

    def test_what_is_added_is_found_with_its_fields(self, cli: Cli) -> None:
        memory_id = add(cli, "Otters hold hands.", "--category", "social", "--tags", "a, b,,a")
        shown = cli("memories", "show", memory_id[:12], "--json").json
        assert set(shown) == set(documented("memories show"))
        assert (shown["content"], shown["category"]) == ("Otters hold hands.", "social")
        assert (shown["tags"], shown["agent_id"], shown["excerpt"]) == (["a", "b"], "tester", [])

    def test_tags_are_separated_by_commas_or_blanks(self, cli: Cli) -> None:
        memory_id = add(cli, "Weasels whistle.", "--tags", "a b,c , d")
        assert cli("memories", "show", memory_id, "--json").json["tags"] == ["a", "b", "c", "d"]

    def test_a_list_is_of_a_project_by_name_path_or_part(self, cli: Cli, tmp_path: Path) -> None:
        kept = add(cli, "Moles dig deep.", "--project", str(tmp_path / "burrow-site"))
        for name in ("burrow-site", "BURROW", str(tmp_path / "burrow-site")):
            listed = cli("memories", "list", "--project", name, "--json").json["memories"]
            assert [memory["id"] for memory in listed] == [kept]
        found = cli("search", "moles", "--project", "burrow-site", "--json").json["results"]
        assert [hit["id"] for hit in found] == [kept]

    def test_a_project_without_memories_is_refused_with_the_names_of_those_that_have(
        self, cli: Cli
    ) -> None:
        result = cli("memories", "list", "--project", "nowhere")
        assert result.code == 2
        assert "no project is 'nowhere'. Known are " in result.err

    def test_a_list_and_a_search_are_of_a_kind(self, cli: Cli) -> None:
        for command in (("memories", "list"), ("search", "push upstream")):
            result = cli(*command, "--kind", "recovery", "--json").json
            found = result.get("memories") or result.get("results")
            assert found
            assert all(memory["tags"][0] == "recovery" for memory in found)

    def test_a_table_names_the_kind_the_title_and_the_agent_where_it_changes(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "120")
        head, first, second, *_ = cli("memories", "list", "--sort", "agent").out.splitlines()
        assert head.split() == ["ID", "CREATED", "AGENT", "KIND", "TITLE"]
        assert first.split()[3] == "claude-code"
        assert "claude-code" not in second
        alone = cli("memories", "list", "--agent", "claude-code", "--limit", "1").out
        assert "AGENT" not in alone
        assert "all of claude-code" in alone

    def test_a_memory_is_shown_as_a_person_reads_it(self, cli: Cli) -> None:
        (hit,) = cli("search", "no upstream branch", "--limit", "1", "--json").json["results"]
        shown = cli("memories", "show", hit["id"], "--context", "3").out
        assert shown.startswith(hit["content"].splitlines()[0])
        assert "kind         recovery, episodic" in shown
        assert re.search(r"\d+  ✗ \S+ git push", shown)
        assert '{"' not in shown
        assert '{"' in cli("memories", "show", hit["id"], "--raw").out

    def test_a_result_shows_the_sentence_that_matched_and_a_bar(self, cli: Cli) -> None:
        add(cli, "About voles.\nThey sleep a lot. Voles tunnel under snow.")
        shown = cli("search", "voles tunnelling", "--limit", "1").out
        first, title, sentence, *_ = shown.splitlines()
        assert first.startswith(" 1  ━")
        assert (title.strip(), sentence.strip()) == ("About voles.", "Voles tunnel under snow.")

    def test_content_can_come_from_standard_input(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("two\nlines\n"))
        assert cli("memories", "show", add(cli, "-"), "--json").json["content"] == "two\nlines"

    def test_an_imported_memory_shows_its_transcript_lines(self, cli: Cli) -> None:
        (hit,) = cli("search", "no upstream branch", "--limit", "1", "--json").json["results"]
        excerpt = cli("memories", "show", hit["id"], "--json").json["excerpt"]
        source = hit["source"]
        expected = list(range(source["first_line"], source["last_line"] + 1))
        assert [line["line"] for line in excerpt] == expected

    def test_editing_changes_only_what_is_named(self, cli: Cli) -> None:
        memory_id = add(cli, "Badgers dig.", "--tags", "dig")
        edited = cli("memories", "edit", memory_id, "--content", "Badgers dig deep.", "--json").json
        assert (edited["content"], edited["tags"]) == ("Badgers dig deep.", ["dig"])
        history = cli("memories", "history", memory_id, "--json").json
        assert set(history["history"][0]) == set(documented("memories history")["history"][0])
        assert [change["kind"] for change in history["history"]] == ["edited", "added"]
        assert {change["actor"] for change in history["history"]} == {
            f"{user_name()} (command line)"
        }

    def test_a_secret_is_replaced_and_that_is_told(self, cli: Cli) -> None:
        token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
        told = "1 secret was replaced by [REDACTED:github-token]"
        added = cli("memories", "add", "--agent", "tester", f"Wolves {token}", "--json")
        assert told in added.err
        edited = cli("memories", "edit", added.json["id"], "--content", f"Bears {token}", "--json")
        assert told in edited.err
        assert edited.json["content"] == "Bears [REDACTED:github-token]"
        asked = ("scenarios", "save", f"s {token}", "use", token, "--agent", "tester")
        saved = cli(*asked, "--token-budget", "9", "--json")
        assert told in saved.err
        name = "s [REDACTED:github-token]"
        assert (saved.json["name"], saved.json["query"]) == (name, "use [REDACTED:github-token]")
        assert cli("scenarios", "delete", name).code == 0

    def test_a_memory_becomes_a_sensitive_fact(self, cli: Cli) -> None:
        memory_id = add(cli, "Badgers", "--tags", "dig")
        given = ("--sensitivity", "sensitive", "--fact-key", "animal", "--json")
        edited = cli("memories", "edit", memory_id, *given).json
        assert (edited["sensitivity"], edited["fact_key"]) == ("sensitive", "animal")
        assert edited["tags"] == ["dig", "fact:animal", "sensitivity:sensitive"]
        shown = cli("memories", "show", memory_id).out
        assert re.search(r"sensitivity +sensitive", shown)
        plain = cli("memories", "edit", memory_id, "--fact-key", "", "--json").json
        assert (plain["sensitivity"], plain["fact_key"]) == ("sensitive", None)

    def test_without_options_the_editor_is_opened(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory_id = add(cli, "Foxes bark.")
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", "sed -i s/bark/scream/")
        assert cli("memories", "edit", memory_id).code == 0
        assert cli("memories", "show", memory_id, "--json").json["content"] == "Foxes scream."

    def test_an_editor_that_fails_changes_nothing(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory_id = add(cli, "Newts wait.")
        monkeypatch.delenv("VISUAL", raising=False)
        for editor, told in (("false", "code 1"), ("no-such-editor", "No such file")):
            monkeypatch.setenv("EDITOR", editor)
            result = cli("memories", "edit", memory_id)
            assert result.code == 1
            assert told in result.err
        assert len(cli("memories", "history", memory_id, "--json").json["history"]) == 1

    def test_deleting_can_be_undone_and_purging_can_not(self, cli: Cli) -> None:
        memory_id = add(cli, "Lynxes hide from everyone.")
        assert cli("memories", "delete", memory_id, "--yes", "--json").json == {"deleted": 1}
        assert "Lynxes" not in cli("search", "lynxes hide", "--json").out
        deleted = cli("memories", "list", "--deleted", "--json").json["memories"]
        assert memory_id in [memory["id"] for memory in deleted]
        assert cli("memories", "restore", memory_id, "--json").json == {"restored": 1}
        assert cli("search", "lynxes hide", "--json").json["results"][0]["id"] == memory_id
        assert cli("memories", "purge", memory_id, "--yes", "--json").json["purged"] == 1
        assert cli("memories", "restore", memory_id).code == 1
        history = cli("memories", "history", memory_id, "--json")
        assert "Lynxes" not in history.out
        assert history.json["history"][0]["kind"] == "purged"

    @pytest.mark.parametrize("action", ["delete", "purge"])
    def test_nothing_is_removed_when_nobody_can_confirm(self, cli: Cli, action: str) -> None:
        memory_id = add(cli, f"Keep me from {action}.")
        result = cli("memories", action, memory_id)
        assert result.code == 2
        assert "Add --yes" in result.err
        assert cli("memories", "show", memory_id).code == 0

    def test_an_unknown_id_is_a_failure(self, cli: Cli) -> None:
        result = cli("memories", "show", "zzzz")
        assert result.code == 1
        assert result.err.startswith("error: no memory has an id that starts with 'zzzz'")

    def test_an_ambiguous_id_is_a_usage_error(self, cli: Cli) -> None:
        result = cli("memories", "show", "")
        assert result.code == 2
        assert "several ids start with" in result.err


class TestStore:
    def test_agents_are_listed_with_their_memories(self, cli: Cli) -> None:
        listed = cli("agents", "--json").json
        assert shape(listed) == shape(documented("agents"))
        agents = {agent["id"]: agent for agent in listed["agents"]}
        assert agents["claude-code"]["memories"] > 0
        assert "claude-code" in cli("agents").out

    def test_a_sound_store_passes_the_doctor(self, cli: Cli) -> None:
        examined = cli("doctor", "--json")
        assert examined.code == 0
        assert shape(examined.json) == shape(documented("doctor"))
        assert examined.json["ok"] is True

    def test_a_person_has_the_settings_retention_hold(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taken = cli("doctor", "--take-retention")
        assert (taken.code, "retention: nothing ends by its age" in taken.err) == (0, True)
        monkeypatch.setenv("CLAUDECODE", "1")
        refused = cli("doctor", "--take-retention")
        assert (refused.code, "only a person decides" in refused.err) == (1, True)

    def test_reindexing_indexes_every_live_memory(self, cli: Cli) -> None:
        total = cli("memories", "list", "--json").json["total"]
        assert cli("reindex", "--json").json == {"reindexed": total}

    @files_only
    def test_a_backup_brings_back_a_corrupt_database(self, cli: Cli, tmp_path: Path) -> None:
        desk = tmp_path / "desk"
        cli("memories", "add", "--agent", "a", "Storks return.", data_dir=desk)
        backup = Path(cli("backup", "--json", data_dir=desk).json["path"])
        assert backup.is_file()
        database = desk / "memory.duckdb"
        database.write_bytes(b"\xff" * 20_000)
        corrupt = cli("search", "storks", data_dir=desk)
        assert corrupt.code == 4
        assert "restore" in corrupt.err
        assert cli("restore", "--yes", "--json", data_dir=desk).json == {"path": str(backup)}
        found = cli("search", "storks", "--json", data_dir=desk).json["results"]
        assert [hit["content"] for hit in found] == ["Storks return."]

    def test_restoring_without_a_backup_is_a_failure(self, cli: Cli, tmp_path: Path) -> None:
        assert cli("restore", data_dir=tmp_path).code == 1


class TestDemo:
    def test_it_imports_searches_and_leaves_nothing(
        self,
        capsys: pytest.CaptureFixture[str],
        store: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        assert main(["demo", "--json"]) == 0
        done = json.loads(capsys.readouterr().out)
        assert set(done) == set(documented("demo"))
        assert any("upstream" in hit["content"] for hit in done["results"][:3])
        assert list(tmp_path.iterdir()) == []


class TestConfig:
    def test_a_sound_file_is_ok(self, cli: Cli) -> None:
        shipped = REPO / "config" / "company.yaml"
        result = cli("config", "check", "--config", str(shipped), "--json")
        assert result.code == 0
        assert result.json == {"ok": True, "path": str(shipped), "not_taken": []}

    def test_problems_are_listed_and_exit_with_2(self, cli: Cli, tmp_path: Path) -> None:
        path = tmp_path / "company.yaml"
        path.write_text("memory:\n  level: here\n  backend: x\n")
        result = cli("search", "x", "--config", str(path))
        assert result.code == 2
        lines = result.err.splitlines()
        assert [line.startswith(f"error: {path}:") for line in lines] == [True, True]

    def test_a_wrong_theme_beside_the_settings_file_is_an_error(
        self, cli: Cli, tmp_path: Path
    ) -> None:
        (tmp_path / "themes").mkdir()
        theme = tmp_path / "themes" / "sea.yaml"
        path = tmp_path / "company.yaml"
        path.write_text("memory:\n  level: session\n")
        theme.write_text("primary: blue\ndark: 1\n")
        result = cli("config", "check", "--config", str(path))
        assert result.code == 2
        assert f"error: {theme}:1: primary:" in result.err
        assert f"error: {theme}:2: dark: 1 isn't allowed; true or false is" in result.err
        theme.write_text('primary: "#0000ff"\n')
        assert cli("config", "check", "--config", str(path)).code == 0

    def test_a_setting_without_effect_is_warned_about(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYNTHORG__MEMORY__RETRIEVAL__RRF_K", "61")
        result = cli("config", "check")
        assert result.code == 0
        assert result.err == "warning: rrf_k: only used with fusion_strategy rrf\n"

    def test_it_is_warned_about_once_where_the_settings_name_the_store(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        monkeypatch.setenv("SYNTHORG__MEMORY__RETRIEVAL__RRF_K", "61")
        monkeypatch.setenv("SYNTHORG__MEMORY__STORAGE__DATA_DIR", str(tmp_path / "new"))
        assert main(["agents"]) == 0
        assert capsys.readouterr().err.count("rrf_k") == 1

    def test_secrets_are_not_shown(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        prefix = "SYNTHORG__MEMORY__STORAGE"
        monkeypatch.setenv(f"{prefix}__VECTOR_STORE", "qdrant-external")
        monkeypatch.setenv(f"{prefix}__SERVER__URL", "http://localhost:6333")
        monkeypatch.setenv(f"{prefix}__SERVER__API_KEY", "s3cret")
        result = cli("config", "show")
        assert "qdrant-external" in result.out
        assert "s3cret" not in result.out

    def test_config_explain_says_where_values_come_from(self, cli: Cli) -> None:
        told = cli("config", "explain", "memory.level", "--json").json
        assert told == documented("config explain")
        assert "memory.level" in cli("config", "explain").out
        unknown = cli("config", "explain", "nonsense")
        assert unknown.code == 2
        assert "config explain" in unknown.err

    def test_the_path_is_told_even_when_nothing_is_there(self, cli: Cli) -> None:
        told = cli("config", "path", "--json").json
        assert shape(told) == shape(documented("config path"))
        assert told["path"].endswith("company.yaml")
        assert told["exists"] is False


class TestProcess:
    def test_a_store_that_is_in_use_exits_with_3_and_names_the_owner(self, store: Path) -> None:
        with DataDirLock(store):
            done = subprocess.run(
                [*RUN, "search", "x", "--data-dir", str(store)],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        assert done.returncode == 3
        assert str(os.getpid()) in done.stderr
        assert len(done.stderr.splitlines()) == 1

    @files_only
    def test_a_reader_that_leaves_is_no_error(self, store: Path) -> None:
        command = [*RUN, "memories", "list", "--json", "--limit", "1000", "--data-dir", str(store)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(PATIENCE) == 0

    def test_the_app_needs_a_terminal(self) -> None:
        done = subprocess.run(
            RUN,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 2
        assert "needs a terminal" in done.stderr

    def test_watching_imports_what_is_written_and_ends_with_ctrl_c(
        self, store: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        command = [*RUN, "watch", str(tmp_path / "in"), "--json", "--data-dir", str(tmp_path / "d")]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert "watching" in process.stderr.readline()
            source = next(SAMPLE.glob("claude*.jsonl"))
            number = 0
            # it is told of a file only once the system watches the folder, which shows in nothing
            while not select.select([process.stdout], [], [], 0.5)[0] and number < PATIENCE:
                (tmp_path / "in" / f"{number}.jsonl").write_bytes(source.read_bytes())
                number += 1
            report = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
        assert shape(report) == shape(documented("import"))
        assert report["memories_added"] > 0
