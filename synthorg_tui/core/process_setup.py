"""Settings of the process that make its start quick and its end quiet."""

import gc
import os
import sys

_OFTEN = (700, 10, 10)
_SELDOM = (200_000, 10, 10)
"""Python's own thresholds, and those of a command, which is over soon."""


def standing_streams() -> None:
    """For a process that was started with standard streams closed: they lead nowhere from now on.

    Else the next file to be opened, maybe the store, would get the number of such a stream, and
    whatever a library prints would be written into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in this order: the lowest free number is the missing one
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123


def starting() -> None:
    """For a process that has just begun, before it loads the rest of the program.

    What is made now is there to stay: to look through it for garbage again and again is a tenth of
    the time until the first answer. And pydantic would read the description of every installed
    package in search of plugins, of which none has any business here.
    """
    gc.set_threshold(*_SELDOM)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"


def started() -> None:
    """For a program that is open now: what is there by now isn't looked through for garbage."""
    gc.freeze()
    if gc.get_threshold() == _SELDOM:
        gc.set_threshold(*_OFTEN)


def ending() -> None:
    """For a program that ends: DuckDB tells of leaks when what stayed isn't given back."""
    gc.unfreeze()
