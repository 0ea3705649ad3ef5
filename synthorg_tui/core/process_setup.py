"""Settings of the process that make its start quick, its rest small and its end quiet."""

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

_GENTLY = 5
"""By how much a thread that nobody waits for is nicer than the rest. Not by more: a thread that
holds the interpreter's lock and gets no processor would keep the keys waiting."""
_OFTEN = (700, 10, 10)
_SELDOM = (200_000, 10, 10)
"""Python's own thresholds, and those of a command, which is over soon."""


def standing_streams() -> None:
    """Open the null device for each standard stream that was closed when the process started.

    Otherwise the next file that is opened, such as the database, would get the descriptor of such a
    stream, and whatever a library prints would be written into it. Call it before opening any file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in this order: the lowest free number is the missing one
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123


def starting() -> None:
    """Tune a process for a quick start; call it before importing the rest of the program.

    Makes garbage collection rare while modules load, since their objects live until the end and
    scanning them takes a tenth of the start-up time. Also keeps pydantic from scanning the metadata
    of every installed package for plugins.
    """
    gc.set_threshold(*_SELDOM)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"


def started() -> None:
    """Exclude all present objects from garbage collection; call it once the program is loaded.

    Also restores the normal collection thresholds after ``starting``.
    """
    gc.freeze()
    if gc.get_threshold() == _SELDOM:
        gc.set_threshold(*_OFTEN)


def be_gentle() -> None:
    """Let everything else go before this thread, for good; without threads' priorities, nothing."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _GENTLY)


def give_back_memory() -> None:
    """Return memory that was freed to the system, which takes some milliseconds.

    The C library glibc keeps much of it otherwise; with another one this does nothing.
    """
    import ctypes  # here: a hook does without it

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def resident_memory() -> int:
    """Return how much memory this process has now, in bytes; at most, where no more is told."""
    import resource
    from pathlib import Path

    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back_code() -> None:
    """Return the memory of libraries' code to the system, on Linux; call it when nobody works.

    The system has it in its file cache, from where it comes back when it is run, within
    milliseconds. Only code that is as in its file goes: what a loader has changed would be lost.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes
    import mmap

    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for first, last in _unchanged_code():
        advise(first, last - first, mmap.MADV_DONTNEED)


def _unchanged_code() -> Iterator[tuple[int, int]]:
    """Addresses of code that was mapped from files and has no page of its own."""
    from pathlib import Path  # here: a hook does without it

    area: tuple[int, int] | None = None
    changed = 0
    for line in Path("/proc/self/smaps").read_text("utf-8", "replace").split("\n"):
        name, *values = line.split(maxsplit=5)[:6] or [""]
        if not name.endswith(":"):
            first, _, last = name.partition("-")
            is_code = len(values) == 5 and values[0] == "r-xp" and values[4].startswith("/")
            area, changed = (int(first, 16), int(last, 16)) if is_code else None, 0
        elif name in ("Anonymous:", "Swap:"):
            changed += int(values[0])
        elif name == "VmFlags:" and area is not None and not changed:
            yield area


def ending() -> None:
    """Include all objects in garbage collection again; call it before the process exits.

    Otherwise DuckDB reports objects that were never released as leaks.
    """
    gc.unfreeze()
