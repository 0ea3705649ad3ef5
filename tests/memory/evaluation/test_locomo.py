"""Files of conversations with questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.memory.evaluation.locomo import DialogueFileError, read_conversations
from synthorg_tui.memory.evaluation.questions import RecallTask
from tests.tables import rows


def conversation(name: str, turns: int) -> dict[str, Any]:
    return {
        "sample_id": name,
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": f"D1:{at}", "text": f"{name} says {at}"}
                for at in range(1, turns + 1)
            ],
        },
        "qa": [
            {"question": "What does it say?", "evidence": ["D1:1; D1:2"]},
            {"question": "What doesn't it?", "evidence": []},
        ],
    }


def written(folder: Path, data: object) -> Path:
    path = folder / "talks.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_turns_are_memories_and_evidence_names_them(tmp_path: Path) -> None:
    path = written(tmp_path, [conversation("a", 3)])
    corpus = read_conversations(path, questions=10, memories=10)
    (question,) = corpus.questions
    texts = {row.id: row.content for row in corpus.rows}
    assert {texts[key] for key in question.relevant} == {"Ann: a says 1", "Ann: a says 2"}
    assert question.category is RecallTask.DIALOGUE
    assert corpus.moments[question.agent_id].day == 9


def test_whole_conversations_are_left_out_beyond_the_bound(tmp_path: Path) -> None:
    path = written(tmp_path, [conversation("a", 3), conversation("b", 3)])
    corpus = read_conversations(path, questions=10, memories=5)
    assert (len(corpus.rows), corpus.total) == (3, 6)
    assert (len(corpus.questions), corpus.found) == (1, 2)


@rows("data", [{}, [1], [{"qa": []}], "text"])
def test_another_file_is_refused_by_its_name(tmp_path: Path, data: object) -> None:
    with pytest.raises(DialogueFileError, match=r"talks\.json"):
        read_conversations(written(tmp_path, data), questions=1, memories=1)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DialogueFileError):
        read_conversations(tmp_path / "none.json", questions=1, memories=1)
