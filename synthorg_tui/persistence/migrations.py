"""The schema of the database: made new, and brought up to date where an earlier version wrote it.

A store that any released version wrote must open; so what a migration once did stays as it is.
"""

import hashlib
from pathlib import Path

from synthorg_tui.core.errors import StoreCorruptError
from synthorg_tui.persistence.errors import MigrationError
from synthorg_tui.persistence.port import Connection

SCHEMA_VERSION = 5
RESTORE_REMEDY = "Run `synthorg-tui restore` to bring back the last backup."
_SCHEMA_DIGEST = "schema_digest"

# Fact keys and sensitivities from the tags, by the rules of memory/retrieval/tags.py; who a memory
# came from as far as its row and history tell.
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

# What a list shows of a session. The columns are filled by executions/facts.py when they are first
# asked for: unpacking all records here would keep a large store closed for minutes.
_TO_3 = """
ALTER TABLE executions ADD COLUMN title VARCHAR;
ALTER TABLE executions ADD COLUMN outcome VARCHAR;
ALTER TABLE executions ADD COLUMN started_at TIMESTAMP;
ALTER TABLE executions ADD COLUMN ended_at TIMESTAMP;
ALTER TABLE executions ADD COLUMN parent_id VARCHAR;
ALTER TABLE executions ADD COLUMN model VARCHAR;
ALTER TABLE executions ADD COLUMN calls BIGINT;
ALTER TABLE executions ADD COLUMN failures BIGINT;
ALTER TABLE executions ADD COLUMN files VARCHAR[];
ALTER TABLE executions ADD COLUMN size BIGINT;
ALTER TABLE IF EXISTS forgotten_sessions ADD COLUMN by_age BOOLEAN DEFAULT false;
"""

# When what a memory says is true, when the store learnt it, and whether it is archived.
_TO_4 = """
ALTER TABLE memories ADD COLUMN valid_from TIMESTAMP;
ALTER TABLE memories ADD COLUMN valid_to TIMESTAMP;
ALTER TABLE memories ADD COLUMN recorded_at TIMESTAMP;
ALTER TABLE memories ADD COLUMN archived_at TIMESTAMP;
ALTER TABLE memories ADD COLUMN archived_why VARCHAR;
ALTER TABLE memories ADD COLUMN archived_mode VARCHAR;
"""

# Retention was a time of expiry that storing stamped, a whole number of days after the creation;
# now it is a rule that is asked when somebody looks. A time that somebody set himself isn't that to
# the microsecond. Each such memory gets a revision, so that the index follows.
_STAMPED = """
INSERT INTO history SELECT
    greatest((SELECT coalesce(max(revision), 0) FROM history),
        (SELECT coalesce(max(revision), 0) FROM vectors)) + row_number() OVER (ORDER BY id),
    id, make_timestamp(epoch_us(now())), 'retention', 'edited',
    '{"expires_at":"' || strftime(expires_at, '%Y-%m-%dT%H:%M:%S.%f') || '"}', '{"expires_at":null}'
FROM memories WHERE expires_at > created_at
    AND (epoch_us(expires_at) - epoch_us(created_at)) % 86400000000 = 0;
UPDATE memories SET expires_at = NULL, revision = h.revision FROM history h
WHERE h.memory_id = memories.id AND h.actor = 'retention'
    AND h.fields_after = '{"expires_at":null}';
"""

# What models used became cost records. Who had asked wasn't recorded, nor what answered.
_TO_5 = """
CREATE TABLE cost_records (
    agent_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_usd DOUBLE NOT NULL,
    timestamp TIMESTAMP NOT NULL,
    seconds DOUBLE NOT NULL
);
INSERT INTO cost_records SELECT 'synthorg', 'none', 'unknown', model, prompt_tokens,
    completion_tokens, cost, used_at, seconds FROM model_usage ORDER BY rowid;
DROP TABLE model_usage;
"""


def _migrate(connection: Connection, version: int) -> None:
    """Bring the schema from ``version`` to the present one; all of it, or nothing on a crash."""
    connection.execute("BEGIN")
    try:
        if version < 2:
            connection.execute(_TO_2)
        if version < 3:
            connection.execute(_TO_3)
        if version < 4:
            connection.execute(_TO_4)
            connection.execute(_STAMPED)
        # The first stores lack that table.
        used = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'model_usage' AND NOT internal"
        if version < 5 and connection.execute(used).fetchone() is not None:
            connection.execute(_TO_5)
        connection.execute(
            "UPDATE meta SET value = ? WHERE name = 'schema_version'", [str(SCHEMA_VERSION)]
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def create_schema(connection: Connection) -> None:
    """Create the tables of a new database, and the values in ``meta`` that identify it."""
    import secrets

    schema = schema_text()
    connection.execute(schema)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [
            ("schema_version", str(SCHEMA_VERSION)),
            (_SCHEMA_DIGEST, _digest(schema)),
            ("epoch", secrets.token_hex(8)),
            ("salt", secrets.token_hex(16)),
            ("revision", "0"),
        ],
    )


def schema_text() -> str:
    """Return the SQL statements that create every table that doesn't exist yet."""
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def _digest(schema: str) -> str:
    return hashlib.blake2b(schema.encode(), digest_size=16).hexdigest()


def schema_version(connection: Connection) -> int:
    """Return the schema version that the file was written with.

    Raises ``StoreCorruptError`` when the file records none.
    """
    row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    if row is None:
        raise StoreCorruptError("the database has no schema version", remedy=RESTORE_REMEDY)
    return int(row[0])


def update_schema(connection: Connection, path: Path) -> None:
    """Upgrade an existing database to the current schema.

    Columns are added by version; new tables are created whenever the schema's text has changed
    since it was last run. Otherwise nothing is executed, which keeps opening an up-to-date store
    fast. Raises ``MigrationError`` when a newer version of this program wrote the file at ``path``.
    """
    facts = _facts(connection, path)
    version = int(facts["schema_version"])
    if version > SCHEMA_VERSION:
        raise MigrationError(
            f"{path} has schema version {version}; this program reads up to {SCHEMA_VERSION}",
            remedy="Update synthorg-tui, or use another --data-dir.",
        )
    if version < SCHEMA_VERSION:
        _migrate(connection, version)
    create_missing(connection, facts)


def create_missing(connection: Connection, facts: dict[str, str] | None = None) -> None:
    """Create the tables that don't exist yet; execute nothing where that was done already.

    ``facts`` are those of ``meta``, ``None`` to have them read.
    """
    if facts is None:
        facts = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    schema = schema_text()
    if facts.get(_SCHEMA_DIGEST) != _digest(schema):
        connection.execute(schema)
        connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [_SCHEMA_DIGEST, _digest(schema)]
        )


def _facts(connection: Connection, path: Path) -> dict[str, str]:
    import duckdb

    try:
        facts = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    except duckdb.CatalogException as error:
        message = f"{path} is not a store of this program"
        raise StoreCorruptError(message, remedy=RESTORE_REMEDY) from error
    if "schema_version" not in facts:
        raise StoreCorruptError("the database has no schema version", remedy=RESTORE_REMEDY)
    return facts
