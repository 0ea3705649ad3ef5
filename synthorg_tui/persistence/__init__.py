"""Where things lie inside a data directory."""

DATABASE_FILE = "memory.duckdb"
LOCK_FILE = "owner.lock"
INDEX_DIR = "index"
BACKUP_DIR = "backups"
