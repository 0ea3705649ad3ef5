-- Version 5. Statements are idempotent; migrations.py makes it of the versions before. Times are UTC without a zone.

CREATE TABLE IF NOT EXISTS meta (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

-- One row a live or soft-deleted memory. "revision" is the last change of it; the vector index
-- is brought up to date from rows newer than what it has applied. "fact_key" and "sensitivity" say
-- what the tags say (memory/retrieval/tags.py), for queries. What a memory says is true from
-- "valid_from" (null: "created_at") to "valid_to" (null: still); the store learnt it at "recorded_at"
-- (null: at its first entry in "history"). One with "archived_at" is kept, but given to nobody.
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
    deleted_at TIMESTAMP,
    fact_key VARCHAR,
    sensitivity VARCHAR DEFAULT 'private',
    source_kind VARCHAR DEFAULT 'operator',
    valid_from TIMESTAMP,
    valid_to TIMESTAMP,
    recorded_at TIMESTAMP,
    archived_at TIMESTAMP,
    archived_why VARCHAR,
    archived_mode VARCHAR
);

-- How one memory stands to another: "supersedes", "derived_from", "contradicts", "depends_on", or
-- "duplicate_of" (from the copy to the one that is kept).
CREATE TABLE IF NOT EXISTS memory_edges (
    from_id UUID NOT NULL,
    to_id UUID NOT NULL,
    kind VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    made_by VARCHAR NOT NULL,
    PRIMARY KEY (from_id, to_id, kind)
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

-- Changes that undid or redid an earlier one: "act" is the last revision of what was undone.
CREATE TABLE IF NOT EXISTS undo_steps (
    revision BIGINT PRIMARY KEY,
    act BIGINT NOT NULL,
    undoes BOOLEAN NOT NULL
);

-- "record" is the execution as compressed JSON. The columns after it are of it, for lists
-- (executions/facts.py): a null "title" means that they are to be filled.
CREATE TABLE IF NOT EXISTS executions (
    id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    project VARCHAR,
    path VARCHAR NOT NULL,
    line_count BIGINT NOT NULL,
    record BLOB NOT NULL,
    title VARCHAR,
    outcome VARCHAR,
    started_at TIMESTAMP,
    ended_at TIMESTAMP,
    parent_id VARCHAR,
    model VARCHAR,
    calls BIGINT,
    failures BIGINT,
    files VARCHAR[],
    size BIGINT
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

-- Sessions that were stored and not learnt from yet: a row is written with the session and deleted
-- when knowledge and lessons are drawn from so many lines of it.
CREATE TABLE IF NOT EXISTS unlearnt_sessions (
    execution_id VARCHAR PRIMARY KEY,
    line_count BIGINT NOT NULL
);

-- Identities of the events of stored sessions (executions/events.py), by which copies are recognised.
CREATE TABLE IF NOT EXISTS session_events (
    execution_id VARCHAR NOT NULL,
    key BIGINT NOT NULL
);

-- Files whose events stand in one stored session, "execution_id": its own, forks, copies. "spans" are
-- the first and last numbers of the lines that the file holds; "title" says what it has of its own.
CREATE TABLE IF NOT EXISTS session_branches (
    id VARCHAR PRIMARY KEY,
    execution_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    ended_at TIMESTAMP,
    spans BIGINT[] NOT NULL
);

-- Records of imported files that no reader knows, counted by what they call themselves. "file" is the
-- SHA-256 of its path, so that importing it again replaces them.
CREATE TABLE IF NOT EXISTS unknown_records (
    file VARCHAR NOT NULL,
    reader VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (file, kind)
);

-- What is left of a forgotten session: a SHA-256 of the salt and its id, so that it isn't imported
-- again. "by_age" is of one that was deleted because it was older than the settings allow.
CREATE TABLE IF NOT EXISTS forgotten_sessions (
    mark VARCHAR PRIMARY KEY,
    forgotten_at TIMESTAMP NOT NULL,
    by_age BOOLEAN DEFAULT false
);

-- Hashes, with the salt, of the events that only deleted sessions had, so that no copy brings them back.
CREATE TABLE IF NOT EXISTS forgotten_events (
    mark BIGINT NOT NULL
);

-- Lines of transcripts that are blank on request; importing them again leaves them blank.
CREATE TABLE IF NOT EXISTS erased_lines (
    execution_id VARCHAR NOT NULL,
    first_line BIGINT NOT NULL,
    last_line BIGINT NOT NULL
);

-- Saved questions: "question" is JSON, "expected" the memories included when it was saved.
CREATE TABLE IF NOT EXISTS scenarios (
    name VARCHAR PRIMARY KEY,
    question VARCHAR NOT NULL,
    expected VARCHAR[] NOT NULL
);

-- What waits for a person's decision, or was decided: an ApprovalItem, columns as its fields;
-- "metadata" is JSON.
CREATE TABLE IF NOT EXISTS approvals (
    id VARCHAR PRIMARY KEY,
    action_type VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    requested_by VARCHAR NOT NULL,
    risk_level VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP,
    snoozed_until TIMESTAMP,
    decided_at TIMESTAMP,
    decided_by VARCHAR,
    decision_reason VARCHAR,
    consumed_at TIMESTAMP,
    task_id VARCHAR,
    source VARCHAR,
    metadata VARCHAR NOT NULL,
    payload VARCHAR NOT NULL
);

-- The audit trail of approvals; rows are only ever added.
CREATE TABLE IF NOT EXISTS approval_events (
    number BIGINT PRIMARY KEY,
    item_id VARCHAR NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    kind VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    payload_hash VARCHAR NOT NULL
);

-- Skills that a person let count, by the path of their file: a SkillRecord, columns as its
-- fields; lists and "proposal" are JSON. "sha256" is of the bytes in force, empty without a file.
CREATE TABLE IF NOT EXISTS skills (
    path VARCHAR PRIMARY KEY,
    root VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    kind VARCHAR,
    lesson_key VARCHAR,
    source VARCHAR NOT NULL,
    memory_ids VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    proposal VARCHAR NOT NULL,
    evidence VARCHAR NOT NULL,
    superseded_by VARCHAR,
    application_count BIGINT NOT NULL,
    last_applied_at TIMESTAMP,
    adopted_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

-- Every text a skill's file had, by us or by somebody else; rows are only ever added.
CREATE TABLE IF NOT EXISTS skill_versions (
    number BIGINT PRIMARY KEY,
    path VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL
);

-- Each time an agent was given a skill: "how" is "digest", "before", "after" (a hint before or after
-- a call) or "read"; "session_id" is that of the agent's program, null once it was forgotten.
CREATE TABLE IF NOT EXISTS lesson_uses (
    path VARCHAR NOT NULL,
    used_at TIMESTAMP NOT NULL,
    how VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    project VARCHAR,
    session_id VARCHAR
);

-- What a look at an imported session for the failure of an approved skill found: whether it ran what
-- the skill is about, and when that first failed. "mark" says what was looked for in how many lines.
CREATE TABLE IF NOT EXISTS lesson_runs (
    path VARCHAR NOT NULL,
    execution_id VARCHAR NOT NULL,
    mark VARCHAR NOT NULL,
    ran BOOLEAN NOT NULL,
    failed_at TIMESTAMP
);

CREATE TABLE IF NOT EXISTS skill_bytes (
    sha256 VARCHAR PRIMARY KEY,
    bytes BLOB NOT NULL
);

-- Roots of skills that were looked at, and marks of what lay in them at first sight and isn't put
-- up for review: a SHA-256 of path and bytes each, so that none tells of what was erased.
CREATE TABLE IF NOT EXISTS skill_roots (
    path VARCHAR PRIMARY KEY,
    seen_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS found_skills (
    mark VARCHAR PRIMARY KEY
);

-- Decisions and what they did, in order. One that is "open" is committed, but its files may not
-- be written yet. "effects" is the JSON of what it takes to finish it and to take it back.
CREATE TABLE IF NOT EXISTS operations (
    number BIGINT PRIMARY KEY,
    kind VARCHAR NOT NULL,
    item_id VARCHAR,
    title VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    state VARCHAR NOT NULL,
    undone_by BIGINT,
    effects VARCHAR NOT NULL
);

-- Calls of connected agents; rows are added, and the oldest dropped beyond a bound. "texts" is
-- JSON of the reply and, for digests, its explanation, compressed with zstandard.
CREATE TABLE IF NOT EXISTS agent_calls (
    number BIGINT PRIMARY KEY,
    called_at TIMESTAMP NOT NULL,
    agent_id VARCHAR NOT NULL,
    client VARCHAR NOT NULL,
    project VARCHAR,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    arguments VARCHAR NOT NULL,
    is_error BOOLEAN NOT NULL,
    tokens BIGINT NOT NULL,
    milliseconds DOUBLE NOT NULL,
    memory_ids VARCHAR[] NOT NULL,
    wrote BOOLEAN NOT NULL,
    texts BLOB NOT NULL
);

-- Sessions of agents' clients. "processes" are those that the client's program descends from, the
-- nearest first: they tell which other connections are of the same session.
CREATE TABLE IF NOT EXISTS agent_sessions (
    agent_id VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    project VARCHAR,
    processes VARCHAR[] NOT NULL,
    seen_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    PRIMARY KEY (agent_id, session_id)
);

-- What a person took from an agent.
CREATE TABLE IF NOT EXISTS agent_rights (
    agent_id VARCHAR PRIMARY KEY,
    paused BOOLEAN NOT NULL,
    read_only BOOLEAN NOT NULL
);

-- Hints that a person doesn't want agents to be given. "kind" is "command" (a program with its
-- subcommand), "lesson" (the path of its skill) or "project" (its folder).
CREATE TABLE IF NOT EXISTS silenced (
    kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    silenced_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    PRIMARY KEY (kind, subject)
);

-- Plans of consolidation. "memories" and "tokens" were counted when it was made; "agent_id" is null
-- for all agents, "held_back" how many texts more than the cap could have left.
CREATE TABLE IF NOT EXISTS consolidation_plans (
    number BIGINT PRIMARY KEY,
    agent_id VARCHAR,
    made_at TIMESTAMP NOT NULL,
    made_by VARCHAR NOT NULL,
    memories BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    held_back BIGINT NOT NULL
);

-- Groups of a plan, each carried out whole or not at all. "text" is the JSON of what would stand for
-- its memories, null once that is stored, dropped or erased; "added" is the memory made of it.
CREATE TABLE IF NOT EXISTS consolidation_groups (
    plan BIGINT NOT NULL,
    number BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    texts BIGINT NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after BIGINT NOT NULL,
    is_exact BOOLEAN NOT NULL,
    text VARCHAR,
    added UUID,
    item_id VARCHAR,
    note VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL
);

-- The memories of each group. "mark" is a keyed hash of what the plan depends on, "revision" that
-- which the memory had once the group was carried out: another one says that it was changed since.
CREATE TABLE IF NOT EXISTS consolidation_members (
    plan BIGINT NOT NULL,
    number BIGINT NOT NULL,
    memory_id UUID NOT NULL,
    role VARCHAR NOT NULL,
    mark VARCHAR NOT NULL,
    revision BIGINT
);

-- Runs of jobs, in order; the oldest of each job are dropped beyond a bound. "state" is "running"
-- from the start on: where no process runs it, it was interrupted. "told" is what came of it in our
-- own words, "log" lines of the same with their time, "tokens" those of language models.
CREATE TABLE IF NOT EXISTS job_runs (
    number BIGINT PRIMARY KEY,
    job VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    state VARCHAR NOT NULL,
    progress BIGINT NOT NULL,
    total BIGINT NOT NULL,
    told VARCHAR NOT NULL,
    tokens BIGINT NOT NULL,
    log VARCHAR NOT NULL
);

-- What was counted in one session, for what is known of its project. A row with an empty "topic" says
-- that the session was looked at, "subject" by which version. Whoever writes a session anew deletes
-- its rows; an empty "execution_id" is of a session that was deleted while what was made of it stayed.
CREATE TABLE IF NOT EXISTS session_facts (
    execution_id VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    good BIGINT NOT NULL,
    bad BIGINT NOT NULL,
    certainty DOUBLE,
    seen_at TIMESTAMP,
    first_line BIGINT NOT NULL,
    last_line BIGINT NOT NULL
);

-- What is known of projects, a line each; an empty "project" is what holds in all. "memory_key" is the
-- import key of the memory that says it, "episodes" are the lines of sessions that show it.
CREATE TABLE IF NOT EXISTS knowledge_lines (
    memory_key VARCHAR PRIMARY KEY,
    project VARCHAR NOT NULL,
    section VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    key VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    counts VARCHAR NOT NULL,
    good BIGINT NOT NULL,
    bad BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    last_at TIMESTAMP,
    certainty DOUBLE NOT NULL,
    episodes VARCHAR[] NOT NULL
);

-- What was seen of the folders in which sessions worked (core/checkouts.py), the first known first.
-- Other tables name folders; which of them are one project is decided when they are read.
CREATE TABLE IF NOT EXISTS project_folders (
    folder VARCHAR PRIMARY KEY,
    place BIGINT NOT NULL,
    root VARCHAR NOT NULL,
    checkout VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    first_commit VARCHAR NOT NULL,
    parent VARCHAR NOT NULL,
    is_there BOOLEAN NOT NULL
);

-- What a person said of projects: "kind" is merge, split or rename. One that was undone counts no more.
CREATE TABLE IF NOT EXISTS project_edits (
    number BIGINT PRIMARY KEY,
    kind VARCHAR NOT NULL,
    folders VARCHAR[] NOT NULL,
    name VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    undone_at TIMESTAMP
);

-- The log of organisation memory; lines are only added to it. "revision" counts with those of
-- memories. "act" numbers what was done at once, null for what a decision did; "undoes" is the act
-- that it takes back.
CREATE TABLE IF NOT EXISTS org_operations (
    operation_id UUID PRIMARY KEY,
    fact_id UUID NOT NULL,
    operation_type VARCHAR NOT NULL,
    content VARCHAR,
    category VARCHAR NOT NULL,
    tags VARCHAR NOT NULL,
    author_agent_id VARCHAR,
    author_seniority VARCHAR,
    author_is_human BOOLEAN NOT NULL,
    author_autonomy_level VARCHAR,
    made_at TIMESTAMP NOT NULL,
    version BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    actor VARCHAR NOT NULL,
    act BIGINT,
    undoes BIGINT
);

-- What that log comes to: a row a fact, a retracted one with its last text. "tags" is a
-- sorted JSON list in both. The vector index follows "revision", that of the last line.
CREATE TABLE IF NOT EXISTS org_facts (
    fact_id UUID PRIMARY KEY,
    revision BIGINT NOT NULL,
    content VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    tags VARCHAR NOT NULL,
    author_agent_id VARCHAR,
    author_seniority VARCHAR,
    author_is_human BOOLEAN NOT NULL,
    author_autonomy_level VARCHAR,
    created_at TIMESTAMP NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    retracted_at TIMESTAMP,
    version BIGINT NOT NULL
);

-- What a person published into files of projects, and took out: a row a file and act. "written" is
-- the SHA-256 of the block, empty when it was taken out; "before" the block that stood there, to
-- be put back, empty for none. "entries" are ids, "parts" what was asked for, "made" the file and
-- the folders that weren't there before. "undone_by" is empty while it stands.
CREATE TABLE IF NOT EXISTS org_publications (
    act BIGINT NOT NULL,
    path VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    written VARCHAR NOT NULL,
    before VARCHAR NOT NULL,
    entries VARCHAR[] NOT NULL,
    parts VARCHAR[] NOT NULL,
    made VARCHAR[] NOT NULL,
    undone_by VARCHAR NOT NULL,
    PRIMARY KEY (act, path)
);

-- Operational data: a row an entity of persistence/entities.py, columns as its fields. "cost_usd" is
-- in the currency of the configured prices; "metadata" is JSON.
CREATE TABLE IF NOT EXISTS tasks (
    id VARCHAR PRIMARY KEY,
    title VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    created_by VARCHAR NOT NULL,
    priority VARCHAR NOT NULL,
    estimated_complexity VARCHAR NOT NULL,
    assigned_to VARCHAR,
    status VARCHAR NOT NULL,
    parent_task_id VARCHAR,
    max_retries BIGINT NOT NULL,
    budget_limit DOUBLE NOT NULL,
    deadline TIMESTAMP
);

-- One row an answer of a language model; rows are only ever added.
CREATE TABLE IF NOT EXISTS cost_records (
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

CREATE TABLE IF NOT EXISTS messages (
    id VARCHAR PRIMARY KEY,
    timestamp TIMESTAMP NOT NULL,
    sender VARCHAR NOT NULL,
    "to" VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    priority VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS lifecycle_events (
    id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    event_type VARCHAR NOT NULL,
    timestamp TIMESTAMP NOT NULL,
    initiated_by VARCHAR NOT NULL,
    details VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS task_metrics (
    id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    task_type VARCHAR NOT NULL,
    completed_at TIMESTAMP NOT NULL,
    is_success BOOLEAN NOT NULL,
    duration_seconds DOUBLE NOT NULL,
    cost_usd DOUBLE NOT NULL,
    turns_used BIGINT NOT NULL,
    tokens_used BIGINT NOT NULL,
    quality_score DOUBLE,
    complexity VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS collaboration_metrics (
    id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    delegation_success BOOLEAN,
    delegation_response_seconds DOUBLE,
    conflict_constructiveness DOUBLE,
    handoff_completeness DOUBLE
);

CREATE TABLE IF NOT EXISTS parked_contexts (
    id VARCHAR PRIMARY KEY,
    execution_id VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    task_id VARCHAR,
    approval_id VARCHAR NOT NULL,
    parked_at TIMESTAMP NOT NULL,
    context_json VARCHAR NOT NULL,
    metadata VARCHAR NOT NULL
);

-- What the runtime decided on calls of tools. The audit has the calls of connected agents and the
-- events of approvals, too, and reads those where they are.
CREATE TABLE IF NOT EXISTS audit_records (
    id VARCHAR PRIMARY KEY,
    timestamp TIMESTAMP NOT NULL,
    agent_id VARCHAR,
    task_id VARCHAR,
    tool_name VARCHAR NOT NULL,
    tool_category VARCHAR NOT NULL,
    action_type VARCHAR NOT NULL,
    arguments_hash VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    risk_level VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    matched_rules VARCHAR[] NOT NULL,
    evaluation_duration_ms DOUBLE NOT NULL,
    approval_id VARCHAR
);

CREATE TABLE IF NOT EXISTS users (
    id VARCHAR PRIMARY KEY,
    username VARCHAR NOT NULL,
    password_hash VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    must_change_password BOOLEAN NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS api_keys (
    id VARCHAR PRIMARY KEY,
    key_hash VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP,
    revoked BOOLEAN NOT NULL
);

CREATE TABLE IF NOT EXISTS checkpoints (
    id VARCHAR PRIMARY KEY,
    execution_id VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    turn_number BIGINT NOT NULL,
    context_json VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS heartbeats (
    execution_id VARCHAR PRIMARY KEY,
    agent_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    last_heartbeat_at TIMESTAMP NOT NULL
);

-- What agents of runs do at the moment; of connected ones agent_sessions and agent_rights tell it.
CREATE TABLE IF NOT EXISTS agent_states (
    agent_id VARCHAR PRIMARY KEY,
    execution_id VARCHAR,
    task_id VARCHAR,
    status VARCHAR NOT NULL,
    turn_count BIGINT NOT NULL,
    accumulated_cost DOUBLE NOT NULL,
    last_activity_at TIMESTAMP NOT NULL,
    started_at TIMESTAMP
);

CREATE TABLE IF NOT EXISTS settings (
    namespace VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (namespace, key)
);

-- What programs say of files and projects, beside what sessions tell of them.
CREATE TABLE IF NOT EXISTS artifacts (
    id VARCHAR PRIMARY KEY,
    type VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    created_by VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    created_at TIMESTAMP
);

CREATE TABLE IF NOT EXISTS projects (
    id VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    team VARCHAR[] NOT NULL,
    lead VARCHAR,
    deadline TIMESTAMP,
    budget DOUBLE NOT NULL,
    status VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS custom_presets (
    name VARCHAR PRIMARY KEY,
    config_json VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

-- Runs of agents that run here, beside their tasks, checkpoints, costs and what is parked: the rest
-- of what was asked for as JSON, how each stands and how it ended. "doing" is the last call of a
-- tool that writes or executes which was begun: where no checkpoint tells of its end, whether it
-- took effect isn't known.
CREATE TABLE IF NOT EXISTS agent_runs (
    id VARCHAR PRIMARY KEY,
    request VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    reason VARCHAR NOT NULL,
    told VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    execution_id VARCHAR NOT NULL,
    doing VARCHAR NOT NULL
);

-- Settings: what was changed in the app or by `config set`, in order; lines are only added. "before"
-- and "after" are the values as JSON, empty where nothing was kept. "done" is set, undo or redo;
-- "of_number" is the change that an undo or redo is about, else 0.
CREATE TABLE IF NOT EXISTS setting_changes (
    number BIGINT PRIMARY KEY,
    changed_at TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    before VARCHAR NOT NULL,
    after VARCHAR NOT NULL,
    done VARCHAR NOT NULL,
    of_number BIGINT NOT NULL
);

-- What evaluations found of skills, proposed or approved: the latest of each level ("lint",
-- "trigger", "replay", "recurrence") for each text, which "sha256" names. "result" is JSON and names
-- prompts by their transcript lines; "folder" holds the files of a replay, empty without any.
CREATE TABLE IF NOT EXISTS skill_evaluations (
    name VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    level VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    folder VARCHAR NOT NULL,
    result VARCHAR NOT NULL
);

-- Fine-tuning. Runs as JSON, with what training needs to go on ("state", empty unless it is at it);
-- the pairs of question and memory that a run uses, whose questions are emptied when it is over
-- ("split" says what a pair is for, "vector" is the question's); checkpoints as JSON, at most one
-- of them in force. A pair goes with its memory and its session.
CREATE TABLE IF NOT EXISTS fine_tune_runs (
    id VARCHAR PRIMARY KEY,
    started_at TIMESTAMP NOT NULL,
    run VARCHAR NOT NULL,
    state BLOB NOT NULL
);

CREATE TABLE IF NOT EXISTS fine_tune_pairs (
    run_id VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    memory_id VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    split VARCHAR NOT NULL,
    vector BLOB NOT NULL,
    negatives VARCHAR[] NOT NULL
);

CREATE TABLE IF NOT EXISTS fine_tune_checkpoints (
    id VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    is_active BOOLEAN NOT NULL,
    record VARCHAR NOT NULL
);

-- Several programs on one store: where each keeps the files of approved skills. "place" is a random
-- name of its data directory.
CREATE TABLE IF NOT EXISTS skill_homes (
    place VARCHAR PRIMARY KEY,
    path VARCHAR NOT NULL,
    seen_at TIMESTAMP NOT NULL
);

-- Evaluation of retrieval: what a person searched for in the app before opening one of the hits, to
-- be asked again; the oldest are dropped beyond a bound. "agent_id" is whose memory it is.
CREATE TABLE IF NOT EXISTS opened_hits (
    query VARCHAR NOT NULL,
    memory_id UUID NOT NULL,
    agent_id VARCHAR NOT NULL,
    opened_at TIMESTAMP NOT NULL
);
