"""The package mem0ai in tests, never imported here: left to itself it would call out."""

from importlib.util import find_spec

import pytest


def require_mem0() -> None:
    """Skip a test where the package isn't installed."""
    if find_spec("mem0") is None:
        pytest.skip("mem0ai isn't installed")
