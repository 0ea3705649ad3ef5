"""What operational data repeats of memories and sessions, and its erasure.

The texts of runs, messages and other entities are searched in every table that isn't known to be
erased elsewhere, so that a table that comes later is reached without a word here. Everything runs
inside the transaction that purges the memories or forgets the sessions.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.texts import TextColumn, find_changes, text_columns, write

ERASED: Final = "(erased)"
"""Stands where a text was."""
_TELLING: Final = 12
_COMPARED: Final = 200
_FEW: Final = 16
_WORD: Final = re.compile(r"\w{2,}")
_STRUCTURE: Final = frozenset(
    {"kind", "at", "tool", "outcome", "item_id", "memory_ids", "workspace", "executor", "profile"}
)
"""Names of values in stored JSON that are no text; without them it could no longer be read."""
_SHORT: Final = 80
"""Characters up to which a text beside a memory's id is a name or a number, not its words."""

ERASED_ELSEWHERE: Final = frozenset(
    {
        *("meta", "memories", "memory_edges", "vectors", "tombstones", "history", "undo_steps"),
        *("executions", "execution_lines", "file_marks", "unknown_records", "erased_lines"),
        *("session_events", "session_branches", "forgotten_events"),
        *("forgotten_sessions", "session_facts", "knowledge_lines", "scenarios", "silenced"),
        *("approvals", "approval_events", "operations", "skills", "skill_versions", "skill_bytes"),
        *("skill_roots", "found_skills", "lesson_uses", "lesson_runs", "agent_calls"),
        *("agent_sessions", "agent_rights", "job_runs", "consolidation_plans"),
        *("project_folders", "project_edits"),
        *("consolidation_groups", "consolidation_members"),
        *("org_operations", "org_facts", "org_publications"),
    }
)
"""Tables whose erasure is a step of its own, or that hold nothing of memories and sessions."""
_OF_A_PERSON: Final = frozenset({"settings", "users", "api_keys"})
_GOING: Final = (
    ("tasks", "id"),
    ("checkpoints", "execution_id"),
    ("parked_contexts", "execution_id"),
    ("heartbeats", "execution_id"),
    ("artifacts", "task_id"),
    ("agent_runs", "id"),
    ("fine_tune_pairs", "session_id"),
)
"""What goes with the record of a run, found by the run's id; its figures stay."""


class Words:
    """Texts to look for, as they stand in text, in JSON, and in JSON within JSON."""

    def __init__(self, contents: Collection[str]) -> None:
        plain = {text[:_COMPARED] for text in contents if len(text) >= _TELLING}
        once = {json.dumps(text)[1:-1] for text in plain}
        once |= {json.dumps(text, ensure_ascii=False)[1:-1] for text in plain}
        twice = {json.dumps(text)[1:-1] for text in once}
        self._forms = plain | once | twice
        inside = {form: _words_inside(form) for form in self._forms}
        common = Counter(word for words in inside.values() for word in words)
        self._by_word = defaultdict[str, list[str]](list)
        for form, words in inside.items():
            rarest = min(words, key=lambda word: (common[word], -len(word)), default="")
            self._by_word[rarest].append(form)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def are_in(self, text: str) -> bool:
        """Tell whether a text has any of them; many are as quick as a few."""
        if len(self._forms) <= _FEW:
            return any(form in text for form in self._forms)
        said = self._by_word.keys() & {"", *_WORD.findall(text)}
        return any(form in text for word in said for form in self._by_word[word])


def _words_inside(form: str) -> set[str]:
    """The words of a text that are whole in whatever text it is part of."""
    found = _WORD.finditer(form)
    return {each.group() for each in found if each.start() > 0 and each.end() < len(form)}


def erase_from_work(db: Connection, memory_ids: Collection[str], contents: Collection[str]) -> None:
    """Put a mark in the place of texts that repeat purged memories or forgotten sessions.

    Contents of only a few characters are looked for where a memory's id stands. JSON stays JSON of
    the same shape, so that what is read of it can still be read.
    """
    # The questions that these memories answer, which an embedder was to be fitted to.
    db.execute(
        "DELETE FROM fine_tune_pairs WHERE memory_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(memory_ids)],
    )
    columns = [
        column
        for column in text_columns(db)
        if column.table not in ERASED_ELSEWHERE | _OF_A_PERSON and not column.is_key
    ]
    words, ids = Words(contents), tuple(memory_ids)
    brief = tuple(content for content in contents if content.strip())

    def clean(_: TextColumn) -> Callable[[str], str]:
        return lambda text: _without(text, words, ids, brief)

    for change in find_changes(db, columns, clean):
        write(db, change)


def _without(text: str, words: Words, ids: Sequence[str], brief: Sequence[str]) -> str:
    names_it = any(memory_id in text for memory_id in ids)
    if not names_it and not words.are_in(text):
        return text

    def is_told(said: str, name: str = "") -> bool:
        if words.are_in(said):
            return True
        if not names_it or name in _STRUCTURE:
            return False
        return len(said) > _SHORT or any(content in said for content in brief)

    try:
        value = json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        value = None
    if value is None:
        return ERASED if is_told(text) else text
    left = json.dumps(_blank(value, is_told), ensure_ascii=False, separators=(",", ":"))
    return left if not words.are_in(left) else ERASED


def _blank(value: Any, is_told: Callable[[str, str], bool], name: str = "") -> Any:
    """The value with a mark for each text in it that tells too much; keys of objects stay."""
    if isinstance(value, str):
        return ERASED if is_told(value, name) else value
    if isinstance(value, list):
        return [_blank(item, is_told, name) for item in value]
    if isinstance(value, dict):
        return {key: _blank(item, is_told, key) for key, item in value.items()}
    return value


def forget_work(db: Connection, executions: Sequence[str]) -> None:
    """Delete what runs left whose records are these sessions: task, steps, files, what waited.

    What they cost and how they went stays, as figures without a text.
    """
    tables = {name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    runs = list(executions)
    if "agent_runs" in tables:
        found = db.execute(
            "SELECT id FROM agent_runs WHERE execution_id IN (SELECT unnest(?::VARCHAR[]))",
            [runs],
        )
        runs += [run for (run,) in found.fetchall()]
    for table, column in _GOING:
        if table in tables:
            db.execute(
                f"DELETE FROM {table} WHERE {column} IN (SELECT unnest(?::VARCHAR[]))", [runs]
            )
    db.execute(
        "UPDATE audit_records SET reason = ? WHERE task_id IN (SELECT unnest(?::VARCHAR[]))",
        [ERASED, runs],
    )
