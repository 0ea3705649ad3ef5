"""Names and kinds of files that a folder may hold and a program may stumble over."""

import os
import socket
from pathlib import Path

LONGEST_NAME = 255
NAMES = (
    b"new\nline",
    b"escape\x1b[2J",
    b"not\xffutf8",
    b"\xe2\x80\xaereversed",
    b"-rf",
    b"...",
)
KINDS = ("pipe", "socket", "folder", "loop", "dangling", "device")


def put_odd_names(folder: Path, suffix: str, content: bytes) -> list[Path]:
    """Put a file with ``content`` into ``folder`` under each odd name; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    longest = b"n" * (LONGEST_NAME - len(suffix))
    paths = [folder / os.fsdecode(name + suffix.encode()) for name in (*NAMES, longest)]
    for path in paths:
        path.write_bytes(content)
    return paths


def put_kind(path: Path, kind: str) -> None:
    """Put what is no plain file at ``path``; nothing in it ever ends, or can be reached."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket must be short
        try:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path.name)
        finally:
            os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    else:
        targets = {"loop": path.name, "dangling": "nowhere", "device": "/dev/zero"}
        path.symlink_to(targets[kind])


def put_odd_kinds(folder: Path, suffix: str) -> None:
    """Put one of each kind into ``folder``, named by its kind and ``suffix``."""
    for kind in KINDS:
        put_kind(folder / f"{kind}{suffix}", kind)
