-- Version 1. Statements are idempotent. Times are UTC without a zone.

CREATE TABLE IF NOT EXISTS meta (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

-- One row a live or soft-deleted memory. "revision" is the last change of it; the vector index
-- is brought up to date from rows newer than what it has applied.
CREATE TABLE IF NOT EXISTS memories (
    id UUID PRIMARY KEY,
    revision BIGINT NOT NULL,
    agent_id VARCHAR NOT NULL,
    shared BOOLEAN NOT NULL,
    namespace VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    source VARCHAR,
    confidence DOUBLE NOT NULL,
    tags VARCHAR[] NOT NULL,
    level VARCHAR NOT NULL,
    session_id VARCHAR,
    project VARCHAR,
    import_key VARCHAR,
    draft_hash VARCHAR,
    content_hash VARCHAR NOT NULL,
    edited BOOLEAN NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP,
    expires_at TIMESTAMP,
    deleted_at TIMESTAMP
);

-- One row a memory that has been embedded; a memory without one waits for re-embedding.
CREATE TABLE IF NOT EXISTS vectors (
    memory_id UUID PRIMARY KEY,
    revision BIGINT NOT NULL,
    fingerprint VARCHAR NOT NULL,
    vector BLOB NOT NULL
);

-- What was erased for good: no content, only what keeps an import from bringing it back.
CREATE TABLE IF NOT EXISTS tombstones (
    memory_id UUID PRIMARY KEY,
    revision BIGINT NOT NULL,
    agent_id VARCHAR NOT NULL,
    import_key VARCHAR,
    content_hash VARCHAR NOT NULL,
    purged_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS history (
    revision BIGINT PRIMARY KEY,
    memory_id UUID NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    fields_before VARCHAR NOT NULL,
    fields_after VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS executions (
    id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    project VARCHAR,
    path VARCHAR NOT NULL,
    line_count BIGINT NOT NULL,
    record BLOB NOT NULL
);

-- Redacted transcript lines, compressed in blocks so that an excerpt unpacks a few only.
CREATE TABLE IF NOT EXISTS execution_lines (
    execution_id VARCHAR NOT NULL,
    first_line BIGINT NOT NULL,
    last_line BIGINT NOT NULL,
    lines BLOB NOT NULL
);

CREATE TABLE IF NOT EXISTS file_marks (
    path VARCHAR PRIMARY KEY,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    digest VARCHAR NOT NULL
);
