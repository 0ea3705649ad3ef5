"""Brings a database that an earlier version of this program wrote up to date."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SCHEMA_VERSION = 2

# Fact keys and sensitivities from the tags, by the rules of memory/traits.py; who a memory came
# from as far as its row and history tell.
_TO_2 = """
ALTER TABLE memories ADD COLUMN fact_key VARCHAR;
ALTER TABLE memories ADD COLUMN sensitivity VARCHAR DEFAULT 'private';
ALTER TABLE memories ADD COLUMN source_kind VARCHAR DEFAULT 'operator';
UPDATE memories SET fact_key = found.key FROM (
    SELECT id, arg_min(key, place) AS key FROM (
        SELECT id, trim(substr(tag, 6), chr(32) || chr(9) || chr(10) || chr(13)) AS key, place
        FROM (SELECT id, unnest(tags) AS tag, generate_subscripts(tags, 1) AS place FROM memories)
        WHERE starts_with(tag, 'fact:')
    ) WHERE key <> '' GROUP BY id
) found WHERE memories.id = found.id;
UPDATE memories SET sensitivity = found.level FROM (
    SELECT id, CASE max(strictness) WHEN 0 THEN 'public' WHEN 1 THEN 'private'
        ELSE 'sensitive' END AS level
    FROM (
        SELECT id, CASE tag WHEN 'sensitivity:public' THEN 0 WHEN 'sensitivity:private' THEN 1
            ELSE 2 END AS strictness
        FROM (SELECT id, unnest(tags) AS tag FROM memories)
        WHERE starts_with(tag, 'sensitivity:')
    ) GROUP BY id
) found WHERE memories.id = found.id;
UPDATE memories SET source_kind = 'import' WHERE import_key IS NOT NULL;
UPDATE memories SET source_kind = 'tool' WHERE import_key IS NULL AND EXISTS (
    SELECT 1 FROM history h
    WHERE h.memory_id = memories.id AND h.kind = 'added' AND h.actor = memories.agent_id
);
"""


def migrate(connection: "duckdb.DuckDBPyConnection", version: int) -> None:
    """Bring the schema from ``version`` to the present one; all of it, or nothing on a crash."""
    connection.execute("BEGIN")
    try:
        if version < 2:
            connection.execute(_TO_2)
        connection.execute(
            "UPDATE meta SET value = ? WHERE name = 'schema_version'", [str(SCHEMA_VERSION)]
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
