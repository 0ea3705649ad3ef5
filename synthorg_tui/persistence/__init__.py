"""Names of the files and folders inside a data directory."""

DATABASE_FILE = "memory.duckdb"
LOCK_FILE = "owner.lock"
INDEX_DIR = "index"
BACKUP_DIR = "backups"
OWN_FILES = (DATABASE_FILE, LOCK_FILE, "owner.log", "hooks.log", "mcp.token", "ui.json")
"""The program's files right in a data directory; what starts like the database is, too."""
