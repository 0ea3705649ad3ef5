"""What the environment and other files may do to settings that keep agents in check."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from synthorg_tui.agents.models import AgentAccessConfig
from synthorg_tui.approvals import ApprovalsConfig
from synthorg_tui.core.types import LOGGER_NAME
from synthorg_tui.settings import environment as paths
from synthorg_tui.settings.loader import load_settings, shipped_settings
from synthorg_tui.settings.safety import (
    NO_SAFETY,
    SAFETY,
    Loosened,
    badges,
    is_looser,
    loosened,
    strictest,
    values_of,
)
from tests.tables import rows

STRICT: Mapping[str, object] = {
    "approvals.allow_cli": False,
    "approvals.review": "all",
    "approvals.certain_from": 0.95,
    "agent_access.writes": "off",
    "agent_access.writes_per_minute": 1,
    "agent_access.audit_calls": 50_000,
    "agent_access.administrator": None,
    "memory.procedural.require_approval": True,
}
LOOSE: Mapping[str, object] = {
    "approvals.allow_cli": True,
    "approvals.review": "uncertain",
    "approvals.certain_from": 0.6,
    "agent_access.writes": "direct",
    "agent_access.writes_per_minute": 9_000,
    "agent_access.audit_calls": 100,
    "agent_access.administrator": "ada",
    "memory.procedural.require_approval": False,
}
EACH = pytest.mark.parametrize("path", SAFETY)


@pytest.fixture(autouse=True)
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    usual = tmp_path / "user" / "company.yaml"
    usual.parent.mkdir()
    monkeypatch.setattr(paths, "default_config_file", lambda: usual)
    return usual


def variable(path: str) -> str:
    return "SYNTHORG__" + path.upper().replace(".", "__")


def write(file: Path, values: Mapping[str, object]) -> Path:
    data: dict[str, Any] = {}
    for path, value in values.items():
        *sections, name = path.split(".")
        section = data
        for each in sections:
            section = section.setdefault(each, {})
        section[name] = value
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return file


def held(path: str, file: Path | None = None, environ: Mapping[str, str] | None = None) -> object:
    return values_of(load_settings(file, environ=environ or {}))[path]


class TestTable:
    def test_every_setting_of_these_sections_is_in_it_or_named_as_none(self) -> None:
        fields = {f"approvals.{name}" for name in ApprovalsConfig.model_fields}
        fields |= {f"agent_access.{name}" for name in AgentAccessConfig.model_fields}
        fields.add("memory.procedural.require_approval")
        assert fields == SAFETY.keys() | NO_SAFETY.keys()
        assert not SAFETY.keys() & NO_SAFETY.keys()

    def test_every_setting_of_it_exists(self) -> None:
        assert values_of(shipped_settings()).keys() == SAFETY.keys() == STRICT.keys()

    @EACH
    def test_of_two_values_one_is_the_stricter(self, path: str) -> None:
        assert is_looser(path, LOOSE[path], STRICT[path])
        assert not is_looser(path, STRICT[path], LOOSE[path])
        assert not is_looser(path, STRICT[path], STRICT[path])
        assert strictest({path: LOOSE[path]}, {path: STRICT[path]}, {}) == {path: STRICT[path]}
        assert loosened({path: LOOSE[path]}, STRICT) == (Loosened(path, STRICT[path], LOOSE[path]),)

    def test_writes_after_approval_are_between_none_and_direct_ones(self) -> None:
        assert is_looser("agent_access.writes", "approval", "off")
        assert is_looser("agent_access.writes", "direct", "approval")

    def test_the_header_shows_what_is_looser_than_shipped(self) -> None:
        shipped = values_of(shipped_settings())
        assert badges(shipped, shipped) == ()
        assert badges({**shipped, "memory.procedural.require_approval": False}, shipped) == (
            "approval off",
        )
        assert badges(LOOSE, STRICT) == (
            "commands may approve",
            "approval eased",
            "agents write unasked",
            "approval off",
        )


class TestOtherSources:
    @EACH
    def test_a_variable_makes_it_stricter(self, own_file: Path, path: str) -> None:
        write(own_file, LOOSE)
        assert held(path, environ={variable(path): json.dumps(STRICT[path])}) == STRICT[path]

    @EACH
    def test_a_variable_does_not_make_it_looser(self, own_file: Path, path: str) -> None:
        write(own_file, STRICT)
        assert held(path, environ={variable(path): json.dumps(LOOSE[path])}) == STRICT[path]

    @EACH
    def test_another_file_makes_it_stricter(
        self, own_file: Path, tmp_path: Path, path: str
    ) -> None:
        write(own_file, LOOSE)
        assert held(path, write(tmp_path / "other.yaml", STRICT)) == STRICT[path]

    @EACH
    def test_another_file_does_not_make_it_looser(
        self, own_file: Path, tmp_path: Path, path: str
    ) -> None:
        write(own_file, STRICT)
        other = write(tmp_path / "other.yaml", LOOSE)
        assert held(path, other) == STRICT[path]
        assert held(path, environ={"SYNTHORG_CONFIG": str(other)}) == STRICT[path]

    def test_without_an_own_file_the_shipped_value_is_what_is_compared_with(
        self, tmp_path: Path
    ) -> None:
        path = "memory.procedural.require_approval"
        assert held(path, environ={variable(path): "false"}) is True
        assert held(path, write(tmp_path / "other.yaml", {path: False})) is True

    @rows("text", ["approvals: [", "approvals: {allow_cli: maybe}", "memory: x"])
    def test_neither_with_one_that_is_wrong(
        self, own_file: Path, tmp_path: Path, text: str
    ) -> None:
        own_file.write_text(text, encoding="utf-8")
        path = "memory.procedural.require_approval"
        assert held(path, write(tmp_path / "other.yaml", {path: False})) is True

    @EACH
    def test_the_own_file_says_what_it_likes(self, own_file: Path, path: str) -> None:
        write(own_file, LOOSE)
        assert held(path) == LOOSE[path]
        assert held(path, own_file) == LOOSE[path]
        own_file.with_name("link.yaml").symlink_to(own_file)
        assert held(path, own_file.with_name("link.yaml")) == LOOSE[path]

    def test_what_is_ignored_is_warned_about(
        self, own_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.WARNING, LOGGER_NAME)
        write(own_file, {"approvals.allow_cli": False})
        load_settings(environ={"SYNTHORG__APPROVALS__ALLOW_CLI": "true"})
        other = write(tmp_path / "other.yaml", {"approvals.allow_cli": True})
        load_settings(other, environ={})
        first, second = [vars(record) for record in caplog.records]
        assert first["field"] == "approvals.allow_cli"
        assert first["reason"] == (
            "true from SYNTHORG__APPROVALS__ALLOW_CLI is ignored: it can make this stricter only; "
            f"false holds, of {own_file} or its default"
        )
        assert f"true from {other}:2 is ignored" in second["reason"]

    def test_other_settings_are_as_free_as_before(self) -> None:
        settings = load_settings(environ={"SYNTHORG__APPROVALS__EXPIRE_AFTER_DAYS": "7"})
        assert settings.approvals.expire_after_days == 7
