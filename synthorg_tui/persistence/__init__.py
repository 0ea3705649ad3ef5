"""Names of the files and folders inside a data directory."""

DATABASE_FILE = "memory.duckdb"
LOCK_FILE = "owner.lock"
INDEX_DIR = "index"
BACKUP_DIR = "backups"
