"""Settings of the process that make its start quick, its rest small and its end quiet."""

import ctypes
import gc
import os
import sys

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


def give_back_memory() -> None:
    """Return memory that was freed to the system, which takes some milliseconds.

    The C library glibc keeps much of it otherwise; with another one this does nothing.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def ending() -> None:
    """Include all objects in garbage collection again; call it before the process exits.

    Otherwise DuckDB reports objects that were never released as leaks.
    """
    gc.unfreeze()
