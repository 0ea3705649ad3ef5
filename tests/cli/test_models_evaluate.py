"""``models evaluate`` on the sample that comes with the program."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner
from tests.providers.model_files import write_pair_onnx, write_tokenizer

TALK = {
    "sample_id": "talk",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a grey cat called Smoke."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "My ship leaves for Oslo on Monday."},
        ],
    },
    "qa": [{"question": "Which animal did Ann adopt?", "evidence": ["D1:1"]}],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluated")


@pytest.fixture
def cli(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Cli:
    move_home(monkeypatch, tmp_path)
    run = runner(store, capsys)
    if not (store / "memory.duckdb").exists():
        assert run("import", str(SAMPLE)).code == 0
    return run


@pytest.fixture
def report(cli: Cli, store: Path) -> Any:
    """The report on the sample as JSON, made once."""
    kept = store / "report.json"
    if not kept.exists():
        result = cli("models", "evaluate", "--json")
        assert result.code == 0
        kept.write_text(result.out, encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def test_failures_that_were_put_right_are_asked_about(report: Any) -> None:
    (own,) = report["sets"]
    assert own["by_source"] == {"failure": own["questions"]}
    assert own["questions"] > 0
    (embedder,) = report["embedders"]
    total = embedder["sets"][0]["tasks"][0]
    assert total["given"]["recall_10"]["mean"] > 0.5
    assert any("questions that are needed" in note for note in report["notes"])


def test_the_json_has_the_documented_fields(report: Any) -> None:
    made, example = report, documented("models evaluate")
    assert made.keys() == example.keys()
    assert made["sets"][0].keys() == example["sets"][0].keys()
    one, other = made["embedders"][0], example["embedders"][0]
    assert one.keys() == other.keys()
    assert one["sets"][0].keys() == other["sets"][0].keys()
    task, shown = one["sets"][0]["tasks"][0], other["sets"][0]["tasks"][0]
    assert task.keys() == shown.keys()
    assert task["given"].keys() == shown["given"].keys()


def test_a_file_of_conversations_is_asked_about_alone(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK]), encoding="utf-8")
    result = cli("models", "evaluate", "--locomo", str(file), "--only-files")
    assert result.code == 0
    assert "talk.json: 1 question among 2 memories: 1 from the file" in result.out
    assert "minilm (active)  1.00" in result.out
    assert "too few" in result.out


def test_one_that_does_not_work_is_told_by_the_exit_code(cli: Cli, tmp_path: Path) -> None:
    named = f"gguf:path={tmp_path / 'none.gguf'}"
    result = cli("models", "evaluate", "--embedder", named)
    assert result.code == 1
    assert "FAIL" in result.out
    assert "minilm (active)" in result.out


@pytest.mark.parametrize(
    "args",
    [
        ("--embedder", "nothing"),
        ("--embedder", "gguf:path"),
        ("--reranker", "nothing"),
        ("--reranker", "onnx:max_tokens=64"),
        ("--only-files",),
        ("--locomo", "/none.json", "--only-files"),
    ],
)
def test_what_names_nothing_is_a_usage_error(cli: Cli, args: tuple[str, ...]) -> None:
    assert cli("models", "evaluate", *args).code == 2


def test_memories_are_sent_elsewhere_only_by_a_person_at_a_terminal(cli: Cli) -> None:
    server = "openai:base_url=https://models.example.org/v1,model=m,dims=8"
    result = cli("models", "evaluate", "--embedder", server)
    assert result.code != 0
    assert result.out == ""


@pytest.mark.parametrize(
    "args", [("--embedder", "gguf:path=/m/any.gguf"), ("--reranker", "onnx:path=/m/any.onnx")]
)
def test_an_agents_command_names_no_model(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    result = cli("models", "evaluate", *args)
    assert result.code == 1
    assert "the models it names would be given the memories" in result.err


def test_a_reranker_is_tried_beside_the_plain_one(cli: Cli, tmp_path: Path) -> None:
    file, model = tmp_path / "talk.json", tmp_path / "cross.onnx"
    file.write_text(json.dumps([TALK]), encoding="utf-8")
    asked = ("--locomo", str(file), "--only-files", "--json")
    named = ("--reranker", f"onnx:path={model}")
    broken = cli("models", "evaluate", *named, *asked)
    assert broken.code == 1
    assert "can't be read" in broken.json["embedders"][1]["problem"]
    write_tokenizer(tmp_path)
    write_pair_onnx(model)
    plain, reordered = cli("models", "evaluate", *named, *asked).json["embedders"]
    assert (plain["reranker"], plain["pairs_per_second"]) == ("", 0.0)
    assert reordered["name"].startswith("minilm + onnx ")
    assert reordered["pairs_per_second"] > 0
    assert reordered["sets"][0]["gain"]["mrr"]["mean"] <= 0


def test_what_a_killed_evaluation_left_is_removed_at_the_next_start(cli: Cli, store: Path) -> None:
    left = store / "scratch" / "left" / "memory.duckdb"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"memories")
    assert cli("memories", "list").code == 0
    assert not left.parent.exists()
