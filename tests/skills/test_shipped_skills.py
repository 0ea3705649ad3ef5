"""The skills that the program ships for agents: valid, small, and installed with it."""

import tomllib
from pathlib import Path

from skills_ref import validate

from synthorg_tui.skills import SkillsConfig
from synthorg_tui.skills.document import RootScope
from synthorg_tui.skills.library import SkillLibrary, shipped_folders, skill_roots
from tests import REPO
from tests.tables import rows

NAMES = ("agent-memory", "review-lessons")


def test_they_lie_at_the_top_of_the_checkout() -> None:
    assert shipped_folders() == (REPO / "skills",)
    assert tuple(sorted(path.name for path in (REPO / "skills").iterdir())) == NAMES


@rows("name", NAMES)
def test_the_reference_validator_has_nothing_to_say(name: str) -> None:
    assert validate(REPO / "skills" / name) == []


def test_this_program_has_nothing_to_say_about_them_and_ranks_them_last(tmp_path: Path) -> None:
    roots = skill_roots(SkillsConfig(), own=tmp_path, shipped=shipped_folders(), home=tmp_path)
    assert roots[-1].scope is RootScope.SHIPPED
    files = SkillLibrary(roots).scan()
    assert [(file.name, file.findings) for file in files] == [(name, ()) for name in NAMES]


def test_a_wheel_holds_every_one() -> None:
    settings = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["setuptools"]["data-files"]
    packed = {path for paths in listed.values() for path in paths}
    assert sorted(packed - {"config/company.yaml"}) == [f"skills/{name}/SKILL.md" for name in NAMES]
