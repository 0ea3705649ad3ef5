"""Copies of files that are in use."""

import subprocess
import sys
from pathlib import Path

from synthorg_tui.core.errors import DomainError

_COPY = """
import os, shutil, sys
with open(sys.argv[1], "rb") as source:
    with open(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
        target.flush()
        os.fsync(target.fileno())
"""


def copy_in_child(source: Path, target: Path) -> None:
    """Copy in a process of its own, so that this one's file locks stay.

    Raises ``DomainError`` when the target exists or can't be written.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _COPY, str(source), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["unknown reason"])[-1]
        raise DomainError(f"could not write {target}: {reason}")
