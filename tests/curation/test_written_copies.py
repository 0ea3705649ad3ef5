"""What a program remembers of the skills it wrote for others' stores."""

import json
from pathlib import Path

from synthorg_tui.curation.shared_skills import WrittenCopies
from tests.tables import rows


def test_the_place_of_a_folder_keeps_its_name(tmp_path: Path) -> None:
    first = WrittenCopies(tmp_path)
    first.written["push"] = "hash"
    first.save()
    again = WrittenCopies(tmp_path)
    assert (again.place, again.written) == (first.place, {"push": "hash"})


def test_a_new_place_is_stored_at_once(tmp_path: Path) -> None:
    assert WrittenCopies(tmp_path).place == WrittenCopies(tmp_path).place


@rows("stored", ["", "[]", "{", json.dumps({"written": 3})])
def test_a_damaged_file_is_replaced(tmp_path: Path, stored: str) -> None:
    (file,) = _files_after(tmp_path / "first")
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / file).write_text(stored)
    assert WrittenCopies(folder).written == {}
    assert WrittenCopies(folder).place == WrittenCopies(folder).place


def _files_after(folder: Path) -> list[str]:
    folder.mkdir()
    WrittenCopies(folder)
    return [path.name for path in folder.iterdir()]
