"""``skills eval`` on a real store."""

import json
from pathlib import Path

import pytest

from tests.cli.cli_kit import documented
from tests.cli.test_skills_cli import Home, home  # noqa: F401

TEXT = "---\nname: {name}\ndescription: Use when asked.\n{more}---\n\nDo it.\n"


def levels(result: object) -> list[str]:
    (skill,) = json.loads(str(result))["skills"]
    return [each["level"] for each in skill["evaluations"]]


class TestQuickLevels:
    def test_an_approved_skill_is_looked_at_and_shown_beside_it(self, home: Home) -> None:  # noqa: F811
        path = home.adopt()
        result = home.run("skills", "eval", path.parent.name)
        assert result.code == 0
        assert "lint ok" in result.out
        assert "no session since has run what it is about" in result.out
        assert "helps" in home.run("skills", "show", path.parent.name).out

    def test_the_json_has_the_documented_fields(self, home: Home) -> None:  # noqa: F811
        path = home.adopt()
        result = home.run("skills", "eval", str(path), "--level", "lint", "--json")
        made, example = result.json, documented("skills eval")
        assert made.keys() == example.keys()
        one, other = made["skills"][0], example["skills"][0]
        assert one["named"] == str(path)
        assert one["evaluations"][0].keys() == other["evaluations"][0].keys()

    def test_all_approved_skills_are_looked_at_together(self, home: Home) -> None:  # noqa: F811
        assert "No approved skill" in home.run("skills", "eval", "--all").out
        home.adopt()
        result = home.run("skills", "eval", "--all", "--json")
        assert levels(result.out) == ["lint", "trigger", "recurrence"]

    def test_a_text_with_errors_is_told_by_the_exit_code(self, home: Home) -> None:  # noqa: F811
        home.put("odd", TEXT.format(name="odd", more="version: 2\n"))
        result = home.run("skills", "eval", "odd", "--level", "lint")
        assert result.code == 1
        assert "line 4: 'version' is no field of a skill" in result.out

    @pytest.mark.parametrize(
        "args", [(), ("x", "--all"), ("nobody",), ("--all", "--level", "replay")]
    )
    def test_what_names_nothing_is_a_usage_error(self, home: Home, args: tuple[str, ...]) -> None:  # noqa: F811
        assert home.run("skills", "eval", *args).code == 2


class TestFiles:
    def test_cases_are_written_once_for_a_person_to_edit(self, home: Home, tmp_path: Path) -> None:  # noqa: F811
        path, file = home.adopt(), tmp_path / "cases.json"
        args = ("skills", "eval", str(path), "--write-cases", "--cases", str(file))
        assert home.run(*args).code == 0
        assert json.loads(file.read_text())["skill_name"] == path.parent.name
        again = home.run(*args)
        assert again.code == 1
        assert "is there already" in again.err

    def test_the_summary_of_another_program_is_shown(self, home: Home, tmp_path: Path) -> None:  # noqa: F811
        runs = [
            {"configuration": arm, "run_number": 1, "result": {"pass_rate": rate}}
            for arm, rate in (("with_skill", 1.0), ("without_skill", 0.25))
        ]
        (tmp_path / "benchmark.json").write_text(json.dumps({"runs": runs}))
        result = home.run("skills", "eval", "--from", str(tmp_path))
        assert "difference in pass_rate: +0.75" in result.out
        made = home.run("skills", "eval", "--from", str(tmp_path), "--json").json
        assert made["delta"] == {"pass_rate": 0.75}

    def test_a_folder_without_one_is_said_to_have_none(self, home: Home, tmp_path: Path) -> None:  # noqa: F811
        result = home.run("skills", "eval", "--from", str(tmp_path))
        assert result.code == 1
        assert "benchmark.json can't be read" in result.err
