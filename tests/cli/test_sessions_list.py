"""How sessions are listed: by project and agent, subagents with those that started them."""

import dataclasses
from datetime import UTC, datetime

from synthorg_tui.cli.commands.sessions_list import families_of, short_ids
from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.executions.sessions import StoredSession, older_families
from tests.tables import rows

AT = datetime(2026, 1, 2, tzinfo=UTC)


def session(name: str, parent: str | None = None, at: datetime | None = AT) -> StoredSession:
    return StoredSession(
        id=name,
        agent_id="ada",
        project="/srv/shop",
        path="/logs/a.jsonl",
        lines=1,
        size=10,
        title=name,
        outcome=ExecutionOutcome.COMPLETED,
        started_at=None,
        ended_at=at,
        parent_id=parent,
    )


def test_subagents_are_with_the_one_that_a_person_started() -> None:
    sessions = [
        session("c:1/x", "c:1"),
        session("c:2"),
        session("c:1"),
        session("c:1/y", "c:1/x"),
        session("c:9/z", "c:9"),
    ]
    found = [(f.root.id, [part.id for part in f.parts], f.size) for f in families_of(sessions)]
    assert found == [
        ("c:2", [], 10),
        ("c:1", ["c:1/x", "c:1/y"], 30),
        ("c:9/z", [], 10),
    ]


def test_sessions_that_name_each_other_as_parent_do_not_hang() -> None:
    families_of([session("c:1", "c:2"), session("c:2", "c:1"), session("c:3", "c:3")])
    older_families([session("c:1", "c:2"), session("c:2", "c:1"), session("c:3", "c:3")], AT)


@rows(
    ("ids", "expected"),
    [
        (
            ["codex:0199f0c4-3d21", "claude_code:77aa88bb-1"],
            ["codex:0199f0c4", "claude_code:77aa88bb"],
        ),
        (["codex:0199f0c4-3d21", "codex:0199f0c4-4d21"], ["codex:0199f0c4-3", "codex:0199f0c4-4"]),
        (["codex:ab", "codex:abc"], ["codex:ab", "codex:abc"]),
        (["c:0123456789", "c:0123456789/agent-7"], ["c:01234567", "c:01234567/agent-7"]),
    ],
)
def test_an_id_is_cut_to_what_tells_it_apart(ids: list[str], expected: list[str]) -> None:
    assert list(short_ids(ids).values()) == expected


def test_a_family_is_old_when_all_of_it_is() -> None:
    later = dataclasses.replace(session("c:1/x", "c:1"), ended_at=datetime(2026, 2, 1, tzinfo=UTC))
    sessions = [session("c:1"), later, session("c:2"), session("c:3", at=None)]
    assert older_families(sessions, AT) == ()
    assert older_families(sessions, datetime(2026, 1, 3, tzinfo=UTC)) == (("c:2",),)
    assert older_families(sessions, datetime(2026, 3, 1, tzinfo=UTC)) == (
        ("c:1", "c:1/x"),
        ("c:2",),
    )
