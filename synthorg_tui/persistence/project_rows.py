"""What the database remembers of projects: the folders that were seen, and a person's edits."""

from typing import Final

from synthorg_tui.core.checkouts import FolderSeen
from synthorg_tui.core.projects import ProjectEdit, ProjectMap
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import insert

_TYPES: Final = ("VARCHAR", "BIGINT", *("VARCHAR",) * 5, "BOOLEAN")
_NAMED: Final = (
    "SELECT project AS folder, min(started_at) AS seen_at FROM executions GROUP BY 1 "
    "UNION ALL SELECT project, min(created_at) FROM memories GROUP BY 1 "
    "UNION ALL SELECT unnest(folders), NULL FROM project_edits"
)
"""Every folder that a row names as its project, with the time of the earliest such row."""


def load_projects(db: Connection) -> ProjectMap:
    """Return what is remembered, and look at the folders of which nothing is.

    The history of these isn't read: whoever remembers them does so.
    """
    seen = db.execute(
        "SELECT folder, root, checkout, address, first_commit, parent, is_there "
        "FROM project_folders ORDER BY place"
    ).fetchall()
    edits = db.execute(
        "SELECT kind, folders, name FROM project_edits WHERE undone_at IS NULL ORDER BY number"
    ).fetchall()
    projects = ProjectMap(
        [FolderSeen(*row) for row in seen],
        [ProjectEdit(kind, tuple(folders), name) for kind, folders, name in edits],
    )
    projects.learn(named_folders(db), history=False)
    return projects


def named_folders(db: Connection) -> list[str]:
    """Return every folder that a session or a memory names as its project, the earliest first."""
    rows = db.execute(
        f"SELECT folder FROM ({_NAMED}) WHERE folder <> '' GROUP BY 1 "
        "ORDER BY min(seen_at) NULLS LAST, folder"
    ).fetchall()
    return [row[0] for row in rows]


def remember_projects(db: Connection, projects: ProjectMap) -> None:
    """Store what is known of the folders that rows name, and forget all others.

    Runs in the caller's transaction.
    """
    kept = set(named_folders(db))
    rows = [
        (
            *(each.folder, place, each.root, each.checkout),
            *(each.address, each.first, each.parent, each.exists),
        )
        for place, each in enumerate(projects.seen.values())
        if each.folder in kept
    ]
    db.execute("DELETE FROM project_folders")
    insert(db, "project_folders", _TYPES, rows)
