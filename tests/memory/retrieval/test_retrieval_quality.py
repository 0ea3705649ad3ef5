"""The retrieval benchmark measures what it says, on a file small enough to check by hand."""

import json
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.pipeline_quality import variants
from benchmarks.retrieval_quality import load, run

TURNS = [
    {"speaker": "Ana", "dia_id": "D1:1", "text": "I adopted a grey kitten called Miso."},
    {"speaker": "Ben", "dia_id": "D1:2", "text": "My bicycle has a flat tyre again."},
    {"speaker": "Ana", "dia_id": "D1:3", "text": "Look at this.", "blip_caption": "a lighthouse"},
    {"speaker": "Ben", "dia_id": "D1:4", "text": "The bakery closes early on Mondays."},
]
QUESTIONS = [
    {"question": "Which pet did Ana adopt?", "evidence": ["D1:1"]},
    {"question": "What is wrong with the bicycle of Ben?", "evidence": ["D1:2; D9:9"]},
    {"question": "Who shared a picture of a lighthouse?", "evidence": ["D1:3"]},
    {"question": "Never asked?", "evidence": ["D"]},
    {"question": "Without evidence?"},
]


def locomo_file(directory: Path) -> Path:
    conversation = {"speaker_a": "Ana", "session_1_date_time": "noon", "session_1": TURNS}
    path = directory / "data.json"
    path.write_text(
        json.dumps([{"sample_id": "c", "qa": QUESTIONS, "conversation": conversation}] * 2)
    )
    return path


def test_turns_become_memories_and_questions_without_evidence_are_counted(tmp_path: Path) -> None:
    data = load(locomo_file(tmp_path), 1)
    assert [content for _, _, content in data.memories] == [
        "Ana: I adopted a grey kitten called Miso.",
        "Ben: My bicycle has a flat tyre again.",
        "Ana: Look at this. [shares a lighthouse]",
        "Ben: The bakery closes early on Mondays.",
    ]
    assert len(data.questions) == 3
    assert data.skipped == 2
    assert data.questions[1].evidence == {data.memories[1][0]}


def test_the_number_of_conversations_can_be_limited(tmp_path: Path) -> None:
    path = locomo_file(tmp_path)
    assert len(load(path, 1).memories) == 4
    assert len(load(path, None).memories) == 8


async def test_it_prints_recall_for_each_source_the_cutoff_curve_and_what_agents_are_given(
    tmp_path: Path,
) -> None:
    quality = await run(locomo_file(tmp_path), 1)
    report = quality.as_table()
    assert "4 memories" in report
    assert "3 questions, 2 skipped" in report
    fused = next(line for line in report.splitlines() if line.startswith("fused  "))
    assert fused.split()[1:] == ["1.000", "1.000", "1.000", "1.000"]
    assert "0.55 (default)" in report
    for name in variants():
        row = next(line for line in report.splitlines() if line.startswith(name.ljust(22)))
        assert len(row.removeprefix(name).split()) == 6
    shipped = next(line for line in report.splitlines() if line.startswith("shipped"))
    assert shipped.split()[1:6] == ["1.000"] * 5
    values = {row.name: row.value for row in quality.as_rows()}
    assert (values["memories"], values["questions"]) == (4, 3)
    assert values["fused: R@5"] == values["given shipped: MRR"] == 1
    assert "convincing 0.55 (default): real answered" in values
    assert len(values) == len(quality.as_rows())


def test_memories_are_as_old_as_the_file_says(tmp_path: Path) -> None:
    path = locomo_file(tmp_path)
    assert load(path, 1).dates == {}
    path.write_text(path.read_text().replace('"noon"', '"1:56 pm on 8 May, 2023"'))
    dates = load(path, 1).dates
    assert set(dates.values()) == {datetime(2023, 5, 8, 13, 56, tzinfo=UTC)}
    assert [memory.at for memory in load(path, 1).dated_memories()] == list(dates.values())
