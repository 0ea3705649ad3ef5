-- What the database of a store has on PostgreSQL beside the tables of schema.sql.

-- The last write of each program that writes: whoever lost the connection while it committed finds
-- out here whether that took effect. Rows of programs that are gone for a month are dropped.
CREATE TABLE IF NOT EXISTS store_writers (
    writer UUID PRIMARY KEY,
    token UUID NOT NULL,
    written_at TIMESTAMP NOT NULL
);

-- Ends a write: keeps its token and tells the others of it, unless it changed nothing.
CREATE OR REPLACE FUNCTION finish_write(by UUID, with_token UUID, channel TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
BEGIN
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO store_writers VALUES (by, with_token, clock_timestamp() AT TIME ZONE 'UTC')
        ON CONFLICT (writer) DO UPDATE
        SET token = excluded.token, written_at = excluded.written_at;
    PERFORM pg_notify(channel, by || ' ' || greatest(
        (SELECT coalesce(max(revision), 0) FROM history),
        (SELECT coalesce(max(revision), 0) FROM vectors),
        (SELECT coalesce(max(revision), 0) FROM org_facts)));
    RETURN true;
END $$;

-- What a look at one of many rows goes by; DuckDB needs none of it.
CREATE INDEX IF NOT EXISTS memories_by_revision ON memories (revision);
CREATE INDEX IF NOT EXISTS memories_by_agent ON memories (agent_id, created_at);
CREATE INDEX IF NOT EXISTS memories_by_key ON memories (import_key);
CREATE INDEX IF NOT EXISTS memories_by_hash ON memories (content_hash);
CREATE INDEX IF NOT EXISTS vectors_by_revision ON vectors (revision);
CREATE INDEX IF NOT EXISTS tombstones_by_revision ON tombstones (revision);
CREATE INDEX IF NOT EXISTS history_by_memory ON history (memory_id, revision);
CREATE INDEX IF NOT EXISTS edges_by_end ON memory_edges (to_id);
CREATE INDEX IF NOT EXISTS lines_by_execution ON execution_lines (execution_id);
CREATE INDEX IF NOT EXISTS uses_by_path ON lesson_uses (path, used_at);
CREATE INDEX IF NOT EXISTS runs_by_path ON lesson_runs (path);
CREATE INDEX IF NOT EXISTS facts_by_execution ON session_facts (execution_id);
CREATE INDEX IF NOT EXISTS facts_by_revision ON org_facts (revision);
CREATE INDEX IF NOT EXISTS operations_by_fact ON org_operations (fact_id);
CREATE INDEX IF NOT EXISTS costs_by_time ON cost_records (timestamp);
CREATE INDEX IF NOT EXISTS events_by_item ON approval_events (item_id);

-- Functions of DuckDB.
CREATE OR REPLACE FUNCTION contains(whole TEXT, part TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT position(part IN whole) > 0';
CREATE OR REPLACE FUNCTION epoch_us(moment TIMESTAMP) RETURNS BIGINT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT (extract(epoch FROM moment) * 1000000)::BIGINT';
CREATE OR REPLACE FUNCTION epoch_us(moment TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT (extract(epoch FROM moment) * 1000000)::BIGINT';
CREATE OR REPLACE FUNCTION moment_of(micros BIGINT) RETURNS TIMESTAMP
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT TIMESTAMP ''epoch'' + micros * INTERVAL ''1 microsecond''';
CREATE OR REPLACE FUNCTION list_position(list ANYARRAY, part ANYELEMENT) RETURNS INTEGER
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT array_position(list, part)';
CREATE OR REPLACE FUNCTION try_json(told TEXT) RETURNS JSON
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN told::JSON;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION duckdb_tables()
RETURNS TABLE (table_name TEXT, table_oid OID, internal BOOLEAN, database_name TEXT,
    estimated_size BIGINT)
LANGUAGE sql STABLE AS $$
    SELECT relname::TEXT, oid, false, current_database()::TEXT,
        greatest(reltuples, 0)::BIGINT FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        AND relname <> 'store_writers'
$$;
CREATE OR REPLACE FUNCTION duckdb_columns()
RETURNS TABLE (table_name TEXT, table_oid OID, column_name TEXT, column_index INTEGER,
    data_type TEXT, internal BOOLEAN)
LANGUAGE sql STABLE AS $$
    SELECT t.table_name, t.table_oid, a.attname::TEXT, a.attnum::INTEGER,
        CASE format_type(a.atttypid, NULL) WHEN 'text' THEN 'VARCHAR' WHEN 'text[]' THEN 'VARCHAR[]'
            WHEN 'bytea' THEN 'BLOB' ELSE upper(format_type(a.atttypid, NULL)) END, false
    FROM duckdb_tables() t JOIN pg_attribute a ON a.attrelid = t.table_oid
    WHERE a.attnum > 0 AND NOT a.attisdropped
$$;
CREATE OR REPLACE FUNCTION duckdb_constraints()
RETURNS TABLE (table_name TEXT, constraint_type TEXT, constraint_column_names TEXT[])
LANGUAGE sql STABLE AS $$
    SELECT t.table_name, 'PRIMARY KEY', ARRAY(
        SELECT a.attname::TEXT FROM pg_attribute a
        WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey))
    FROM duckdb_tables() t JOIN pg_constraint c ON c.conrelid = t.table_oid AND c.contype = 'p'
$$;
-- What is within another document is told without spaces between its parts, as DuckDB does.
CREATE OR REPLACE FUNCTION json_compact(told JSON) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN CASE json_typeof(told)
        WHEN 'object' THEN '{' || coalesce((SELECT string_agg(
            to_json(part.key)::TEXT || ':' || json_compact(part.value), ',' ORDER BY part.place)
            FROM json_each(told) WITH ORDINALITY AS part (key, value, place)), '') || '}'
        WHEN 'array' THEN '[' || coalesce((SELECT string_agg(
            json_compact(part.value), ',' ORDER BY part.place)
            FROM json_array_elements(told) WITH ORDINALITY AS part (value, place)), '') || ']'
        ELSE told::TEXT END;
END $$;
CREATE OR REPLACE FUNCTION json_at(document JSON, path TEXT) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    part JSON := document #> string_to_array(substr(path, 3), '.');
BEGIN
    RETURN CASE WHEN json_typeof(part) IN ('object', 'array') THEN json_compact(part)
        ELSE document #>> string_to_array(substr(path, 3), '.') END;
END $$;
CREATE OR REPLACE FUNCTION sha256_hex(told TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT encode(sha256(convert_to(told, 'UTF8')), 'hex')$$;
CREATE OR REPLACE FUNCTION hash(VARIADIC parts TEXT[]) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT hashtextextended(parts::TEXT, 0)$$;
CREATE OR REPLACE FUNCTION hash(whole RECORD) RETURNS BIGINT
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN RETURN hashtextextended(whole::TEXT, 0); END$$;
CREATE OR REPLACE FUNCTION list_first(list ANYARRAY) RETURNS ANYELEMENT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT list[1]$$;
CREATE OR REPLACE FUNCTION length(list ANYARRAY) RETURNS INTEGER
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT cardinality(list)$$;
CREATE OR REPLACE FUNCTION array_sort(list ANYARRAY) RETURNS ANYARRAY
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT array_agg(part ORDER BY part) FROM unnest(list) part$$;
CREATE OR REPLACE FUNCTION regexp_extract(whole TEXT, pattern TEXT, part INTEGER) RETURNS TEXT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT coalesce((regexp_match(whole, '(' || pattern || ')'))[part + 1], '')$$;
CREATE OR REPLACE FUNCTION to_seconds(seconds BIGINT) RETURNS INTERVAL
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT seconds * INTERVAL '1 second'$$;
CREATE OR REPLACE FUNCTION round(told DOUBLE PRECISION, places INTEGER) RETURNS DOUBLE PRECISION
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT round(told::NUMERIC, places)::DOUBLE PRECISION$$;
CREATE OR REPLACE FUNCTION ends_with(whole TEXT, part TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT right(whole, length(part)) = part$$;
CREATE OR REPLACE FUNCTION unnest_lists(told JSON) RETURNS SETOF TEXT[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE json_typeof(part) WHEN 'array'
        THEN ARRAY(SELECT json_array_elements_text(part)) END
    FROM json_array_elements(told) part
$$;
CREATE OR REPLACE FUNCTION suffix(whole TEXT, part TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT right(whole, length(part)) = part$$;
CREATE OR REPLACE FUNCTION list_has_all(list ANYARRAY, parts ANYARRAY) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT list @> parts$$;
CREATE OR REPLACE FUNCTION try_bigint(told TEXT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT CASE WHEN told ~ '^\s*[-+]?\d{1,18}\s*$' THEN told::BIGINT END$$;
