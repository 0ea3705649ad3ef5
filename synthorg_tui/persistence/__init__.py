"""Names of the files and folders inside a data directory."""

DATABASE_FILE = "memory.duckdb"
SERVER_FILE = "memory.postgres"
"""Stands in a data directory for a database that is on a server, and says on which."""
LOCK_FILE = "owner.lock"
INDEX_DIR = "index"
BACKUP_DIR = "backups"
REVIEW_DIR = "in-the-editor"
EVALUATIONS_DIR = "evaluations"
SCRATCH_DIR = "scratch"
STATUS_FILE = "status.json"
COPIES_FILE = "skill-copies.json"
OWN_FILES = (
    DATABASE_FILE,
    SERVER_FILE,
    LOCK_FILE,
    "owner.log",
    "hooks.log",
    "mcp.token",
    "ui.json",
    COPIES_FILE,
    STATUS_FILE,
    f"{STATUS_FILE}.reading",
)
"""The program's files right in a data directory; what starts like the database is, too."""
