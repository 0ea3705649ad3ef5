"""When Python looks for garbage: hardly while a program starts, as usual once it is open.

What start-up makes is there to stay, and looking through it again and again takes a tenth of the
time until the first answer.
"""

import gc

_OFTEN = (700, 10, 10)
_SELDOM = (200_000, 10, 10)
"""Python's own thresholds, and those of a command, which is over soon."""


def collect_seldom() -> None:
    """For a command, and for the start of a program."""
    gc.set_threshold(*_SELDOM)


def collect_again() -> None:
    """For a program that is open now: what is there by now stays and isn't looked through."""
    gc.freeze()
    if gc.get_threshold() == _SELDOM:
        gc.set_threshold(*_OFTEN)


def let_go() -> None:
    """For a program that ends: DuckDB tells of leaks when what stayed isn't given back."""
    gc.unfreeze()
