"""Questions about conversations from a file in LoCoMo's format, as memories of an agent each.

A file is a list of conversations, each with numbered sessions of turns, and questions whose
evidence names turns. Every turn becomes a memory as of its day; all is asked the day after the last
one. The texts stay in the scratch store.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.enums import Sensitivity, SourceKind
from synthorg_tui.memory.evaluation.corpus import Corpus, in_fair_order
from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource, RecallTask
from synthorg_tui.memory.store.rows import StoredMemory

MAX_FILE: Final = 100_000_000
_NO_DATE: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TURN: Final = re.compile(r"D\d+:\d+")
_DATE: Final = "%I:%M %p on %d %B, %Y"


class DialogueFileError(DomainError):
    """A file can't be read as conversations with questions."""

    exit_code = 2


def read_conversations(path: Path, *, questions: int, memories: int) -> Corpus:
    """Return the memories and questions of a file, a sample of both where there are more.

    Whole conversations are taken until there are ``memories``, at least one. Raises
    ``DialogueFileError``.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise DialogueFileError(f"{path.name} is larger than {MAX_FILE // 10**6} MB")
        data = json.loads(path.read_text(encoding="utf-8"))
        return _corpus(path.name, data, questions, memories)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DialogueFileError(
            f"{path.name} can't be read as LoCoMo conversations: {safe_text(str(error))}"
        ) from error


def _corpus(name: str, data: list[dict[str, Any]], questions: int, memories: int) -> Corpus:
    rows: list[StoredMemory] = []
    asked: list[EvalQuestion] = []
    moments: dict[str, datetime] = {}
    total = found = 0
    for number, conversation in enumerate(data):
        agent = f"{number}-{conversation.get('sample_id', 'conversation')}"
        turns = dict(_turns(agent, conversation["conversation"]))
        total += len(turns)
        known = list(_questions(agent, conversation["qa"], turns))
        found += len(known)
        if rows and len(rows) + len(turns) > memories:
            continue
        rows += turns.values()
        asked += known
        last = max((row.created_at for row in turns.values()), default=_NO_DATE)
        moments[agent] = last.replace(tzinfo=UTC) + timedelta(days=1)
    chosen = in_fair_order(asked, lambda each: f"{each.agent_id} {each.text}")[:questions]
    return Corpus(
        name=safe_text(name),
        rows=tuple(rows),
        questions=tuple(chosen),
        moments=moments,
        total=total,
        found=found,
    )


def _turns(agent: str, conversation: Mapping[str, Any]) -> Iterator[tuple[str, StoredMemory]]:
    for session, value in conversation.items():
        if isinstance(value, list):
            at = _moment(str(conversation.get(f"{session}_date_time", "")))
            for line, turn in enumerate(value, 1):
                yield str(turn["dia_id"]), _memory(agent, session, line, turn, at)


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, _DATE).replace(tzinfo=UTC)
    except ValueError:
        return _NO_DATE


def _memory(
    agent: str, session: str, line: int, turn: Mapping[str, Any], at: datetime
) -> StoredMemory:
    caption = turn.get("blip_caption")
    shared = f" [shares {caption}]" if caption else ""
    content = f"{turn['speaker']}: {turn.get('text', '')}{shared}"
    key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{agent}/{turn['dia_id']}"))
    return StoredMemory(
        id=key,
        revision=0,
        agent_id=agent,
        shared=False,
        namespace="default",
        category=MemoryCategory.EPISODIC.value,
        content=content,
        source=f"locomo:{agent}/{session}#L{line}-L{line}",
        confidence=1.0,
        tags=("non-inferable",),
        level=MemoryLevel.PERSISTENT.value,
        session_id=session,
        project=None,
        import_key=key,
        draft_hash=None,
        content_hash=key if not content.strip() else str(uuid.uuid5(uuid.NAMESPACE_OID, content)),
        edited=False,
        created_at=at.replace(tzinfo=None),
        updated_at=None,
        expires_at=None,
        deleted_at=None,
        fact_key=None,
        sensitivity=Sensitivity.PRIVATE.value,
        source_kind=SourceKind.OPERATOR.value,
    )


def _questions(
    agent: str, asked: list[Mapping[str, Any]], turns: Mapping[str, StoredMemory]
) -> Iterator[EvalQuestion]:
    """The questions whose evidence is among the turns."""
    for each in asked:
        named = _TURN.findall(" ".join(map(str, each.get("evidence", []))))
        relevant = frozenset(turns[turn].id for turn in named if turn in turns)
        if relevant:
            yield EvalQuestion(
                text=str(each["question"]),
                agent_id=agent,
                relevant=relevant,
                category=RecallTask.DIALOGUE,
                source=QuestionSource.FILE,
                session=agent,
            )
