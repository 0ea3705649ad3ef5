"""Rewrites the assertions of all tests once, before the workers of xdist start.

Otherwise each worker rewrites every module of a new clone, which takes longer than all else in the
collection: they begin at the same time, and none finds what another has written.
"""

import multiprocessing
import os
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from tests import REPO


def rewrite_tests(config: pytest.Config) -> None:
    """Write the bytecode of all test modules that have none yet, with a process for each core."""
    stale = [path for path in sorted((REPO / "tests").rglob("test_*.py")) if _is_stale(path)]
    processes = os.cpu_count() or 1
    fork = multiprocessing.get_context("fork")  # the configuration can't be pickled
    writing = [
        fork.Process(target=_rewrite, args=(stale[first::processes], config))
        for first in range(min(processes, len(stale)))
    ]
    for process in writing:
        process.start()
    for process in writing:
        process.join()


def _bytecode_of(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / (path.name[:-3] + rewrite.PYC_TAIL)


def _is_stale(path: Path) -> bool:
    return rewrite._read_pyc(path, _bytecode_of(path)) is None


def _rewrite(paths: list[Path], config: pytest.Config) -> None:
    for path in paths:
        rewrite.try_makedirs(_bytecode_of(path).parent)
        status, code = rewrite._rewrite_test(path, config)
        state = config.stash[rewrite.assertstate_key]
        rewrite._write_pyc(state, code, status, _bytecode_of(path))
