"""An agent's entry in the settings file: read, changed and removed, with the rest as it was."""

from pathlib import Path

import pytest

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.settings.agent_entry import entry_of, plan_entry, write_entry
from synthorg_tui.settings.loader import load_settings
from tests.tables import rows

FILE = """\
# Mine.
memory:
  level: project   # as agreed

agents:
  # The careful one.
  - id: ada
    role: Developer   # since May
    retrieval:
      max_memories: 5

  # The new one.
  - id: bob

jobs:
  packing: daily
"""


def settings_file(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "company.yaml"
    path.write_bytes(text.encode())
    return path


def test_an_entry_is_read_as_it_stands(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    assert entry_of(path, "ada") == (
        "- id: ada\n  role: Developer   # since May\n  retrieval:\n    max_memories: 5\n"
    )
    assert entry_of(path, "bob") == "- id: bob\n"


def test_an_agent_without_entry_gets_suggestions_that_change_nothing(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    entry = entry_of(path, "cyd")
    assert '- id: "cyd"' in entry
    assert not plan_entry(path, "cyd", entry).is_needed


@rows("agent", ["ada", "bob"])
def test_an_entry_saved_as_it_was_changes_no_byte(tmp_path: Path, agent: str) -> None:
    path = settings_file(tmp_path, FILE.replace("- id: bob\n", "- id: bob\n    role: Tester\n"))
    assert not plan_entry(path, agent, entry_of(path, agent)).is_needed


@rows("ending", ["\n", "\r\n"])
def test_a_changed_entry_leaves_every_other_byte(tmp_path: Path, ending: str) -> None:
    path = settings_file(tmp_path, FILE.replace("\n", ending))
    entry = entry_of(path, "ada").replace("Developer", "Lead Developer")
    change = plan_entry(path, "ada", entry)
    write_entry(change)
    after = path.read_bytes().decode()
    assert after == FILE.replace("Developer", "Lead Developer").replace("\n", ending)
    assert "+    role: Lead Developer   # since May" in change.diff
    agent = load_settings(path, environ={}).agent("ada")
    assert agent is not None
    assert agent.role == "Lead Developer"


def test_a_new_entry_stands_behind_the_last_one(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    write_entry(plan_entry(path, "cyd", "- id: cyd\n  seniority: lead\n"))
    expected = FILE.replace("  - id: bob\n", "  - id: bob\n  - id: cyd\n    seniority: lead\n")
    assert path.read_text() == expected


@rows("before", ["", "agents: []\n", "agents:\n", "memory:\n  level: project", "# only this"])
def test_the_first_entry_makes_the_list(tmp_path: Path, before: str) -> None:
    path = settings_file(tmp_path, before)
    write_entry(plan_entry(path, "cyd", "- id: cyd\n  level: session\n"))
    settings = load_settings(path, environ={})
    assert [agent.id for agent in settings.agents] == ["cyd"]
    assert path.read_text().endswith("agents:\n  - id: cyd\n    level: session\n")
    assert path.read_text().startswith(before.partition("agents:")[0])


def test_a_file_that_isnt_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "company.yaml"
    write_entry(plan_entry(path, "cyd", "- id: cyd\n  role: Tester\n"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_settings(path, environ={}).agents[0].role == "Tester"


def test_an_entry_without_values_is_removed_with_its_lines_alone(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    write_entry(plan_entry(path, "ada", "# nothing of its own\n- id: ada\n#  role: x\n"))
    after = path.read_text()
    assert "# The careful one.\n" in after
    assert "# The new one.\n  - id: bob\n" in after
    assert "max_memories" not in after
    assert load_settings(path, environ={}).agent("ada") is None


@rows(
    ("entry", "told"),
    [
        ("- id: ada\n  retrieval: {max_memories: 101}\n", "from 1 to 100"),
        ("- id: ada\n  rank: high\n", "unknown setting"),
        ("- id: ada\n  role: [\n", "company.yaml"),
        ("- id: bob\n  role: Tester\n", "one entry, with id: ada"),
        ("- id: ada\n  role: x\n- id: eve\n  role: y\n", "one entry, with id: ada"),
        ("- id: ada\n  role: x\n- id: ada\n  role: y\n", "one entry, with id: ada"),
    ],
)
def test_what_isnt_one_valid_entry_is_refused_and_nothing_written(
    tmp_path: Path, entry: str, told: str
) -> None:
    path = settings_file(tmp_path)
    with pytest.raises(ConfigError) as refused:
        plan_entry(path, "ada", entry)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_text() == FILE


def test_a_text_that_reaches_beyond_its_entry_is_refused(tmp_path: Path) -> None:
    text = "agents:\n- id: ada\n  role: x\n"
    path = settings_file(tmp_path, text)
    with pytest.raises(ConfigError, match="one entry"):
        plan_entry(path, "ada", "- id: ada\n  role: y\napprovals:\n  allow_cli: true\n")
    assert path.read_text() == text


@rows("text", ["agents: [{id: ada}]\n", "agents:\n  -\n    id: ada\n"])
def test_agents_without_lines_of_their_own_are_left_to_the_person(
    tmp_path: Path, text: str
) -> None:
    path = settings_file(tmp_path, text)
    with pytest.raises(ConfigError, match="lines of their own"):
        entry_of(path, "ada")


def test_a_file_that_changed_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    change = plan_entry(path, "cyd", "- id: cyd\n  role: Tester\n")
    path.write_text(FILE + "# more\n")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        write_entry(change)
    assert path.read_text() == FILE + "# more\n"


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    real = settings_file(tmp_path)
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    write_entry(plan_entry(link, "cyd", "- id: cyd\n  role: Tester\n"))
    assert link.is_symlink()
    assert "cyd" in real.read_text()
