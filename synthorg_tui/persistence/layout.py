"""Where things lie inside a data directory, and who may read them."""

from pathlib import Path

DATABASE_FILE = "memory.duckdb"
LOCK_FILE = "owner.lock"
INDEX_DIR = "index"
BACKUP_DIR = "backups"

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


def ensure_private_dir(path: Path) -> Path:
    """Create ``path`` with its parents and make it readable by its owner only."""
    path.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    path.chmod(PRIVATE_DIR)
    return path


def make_private(path: Path) -> None:
    """Make a file readable by its owner only; a missing one is left missing."""
    try:
        if path.stat().st_mode & 0o777 != PRIVATE_FILE:
            path.chmod(PRIVATE_FILE)
    except FileNotFoundError:
        return
