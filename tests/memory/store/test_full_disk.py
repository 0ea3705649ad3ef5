"""A full disk is told as such, with what to do about it."""

import sys

import duckdb
import pytest

from synthorg_tui.memory.errors import MemoryStoreError, VectorIndexError, translate_errors

FULL_DEVICE = "/dev/full"
"""Everything written there meets a full disk."""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such device elsewhere")
def test_a_disk_that_is_full_for_the_database_is_told_as_such() -> None:
    numbers = f"COPY (SELECT range FROM range(100000)) TO '{FULL_DEVICE}' (FORMAT csv)"
    with (
        pytest.raises(MemoryStoreError) as failed,
        translate_errors(MemoryStoreError, "storing"),
        duckdb.connect() as database,
    ):
        database.execute(numbers)
    assert (failed.value.message, failed.value.remedy) == ("The disk is full.", "Free some space.")
    assert isinstance(failed.value.__cause__, duckdb.Error)


def test_a_disk_that_is_full_for_the_index_is_told_as_such() -> None:
    full = OSError(28, "No space left on device")
    with pytest.raises(MemoryStoreError) as failed, translate_errors(MemoryStoreError, "storing"):
        raise VectorIndexError(f"cannot write: {full}")
    assert (failed.value.message, failed.value.remedy) == ("The disk is full.", "Free some space.")


def test_any_other_failure_says_what_was_done_and_why_it_failed() -> None:
    with (
        pytest.raises(MemoryStoreError, match=r"^storing failed: Catalog Error: Table"),
        translate_errors(MemoryStoreError, "storing"),
        duckdb.connect() as database,
    ):
        database.execute("SELECT * FROM nothing")
