"""Who may write organisation facts: the rules and their short form."""

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.access_control import (
    CategoryWriteRule,
    WriteAccessConfig,
    check_write_access,
    require_write_access,
)
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryAccessDeniedError
from synthorg_tui.memory.org.models import OrgFactAuthor
from tests.tables import rows

SENIOR = CategoryWriteRule(allowed_seniority=SeniorityLevel.SENIOR)


def test_only_people_write_policies_and_seniors_the_rest_by_default() -> None:
    assert dict(WriteAccessConfig().rules) == {
        OrgFactCategory.CORE_POLICY: CategoryWriteRule(allowed_seniority=None, human_allowed=True),
        OrgFactCategory.ADR: SENIOR,
        OrgFactCategory.PROCEDURE: SENIOR,
        OrgFactCategory.CONVENTION: SENIOR,
    }


def test_rules_are_read_only() -> None:
    rules: Any = WriteAccessConfig(rules={OrgFactCategory.ADR: SENIOR}).rules
    with pytest.raises(TypeError):
        rules[OrgFactCategory.ADR] = CategoryWriteRule()


def test_given_rules_replace_all_defaults() -> None:
    config = WriteAccessConfig.model_validate({"rules": {"adr": {"allowed_seniority": "lead"}}})
    assert set(config.rules) == {OrgFactCategory.ADR}


def test_the_short_form_names_the_lowest_seniority() -> None:
    config = WriteAccessConfig.model_validate(
        {
            "policies": ["human"],
            "adrs": ["human", "c_suite", "senior", "lead"],
            "procedures": ["junior"],
        }
    )
    assert config.rules[OrgFactCategory.CORE_POLICY] == CategoryWriteRule()
    assert config.rules[OrgFactCategory.ADR] == SENIOR
    assert config.rules[OrgFactCategory.PROCEDURE] == CategoryWriteRule(
        allowed_seniority=SeniorityLevel.JUNIOR, human_allowed=False
    )


def test_the_short_form_keeps_the_default_of_what_it_leaves_out() -> None:
    config = WriteAccessConfig.model_validate({"policies": []})
    assert config.rules[OrgFactCategory.CONVENTION] == SENIOR
    assert config.rules[OrgFactCategory.CORE_POLICY] == CategoryWriteRule(human_allowed=False)


@rows(
    ("data", "told"),
    [
        ({"adrs": ["boss"]}, r"adrs names \['boss'\]"),
        ({"adrs": "human"}, "adrs must be a list"),
        ({"adrs": ["human"], "rules": {}}, "can't be mixed"),
        ({"adrs": ["human"], "handbooks": ["human"]}, "can't be mixed"),
    ],
)
def test_a_wrong_short_form_is_refused(data: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        WriteAccessConfig.model_validate(data)


def test_a_configuration_survives_being_written_and_read() -> None:
    config = OrgMemoryConfig(core_policies=("All code is reviewed.",))
    assert OrgMemoryConfig.model_validate(config.model_dump(mode="json")) == config


def test_the_optional_backend_keys_of_the_guide_are_accepted() -> None:
    config = OrgMemoryConfig.model_validate(
        {
            "backend": "hybrid_prompt_retrieval",
            "extended_store": {"backend": "sqlite", "max_retrieved_per_query": 5},
        }
    )
    assert config == OrgMemoryConfig()


DOCUMENTED = WriteAccessConfig()
SHORT = WriteAccessConfig.model_validate(
    {
        "policies": ["human"],
        "adrs": ["human", "senior"],
        "procedures": ["human", "senior"],
        "conventions": ["human", "senior"],
    }
)


class TestWhoMayWrite:
    @rows(
        "config, category, seniority", product([DOCUMENTED, SHORT], OrgFactCategory, SeniorityLevel)
    )
    def test_agents_write_from_senior_on_but_no_policies(
        self, config: WriteAccessConfig, category: OrgFactCategory, seniority: SeniorityLevel
    ) -> None:
        agent = OrgFactAuthor(agent_id="coder", seniority=seniority)
        is_senior = seniority not in (SeniorityLevel.JUNIOR, SeniorityLevel.MID)
        may = is_senior and category is not OrgFactCategory.CORE_POLICY
        assert check_write_access(config, category, agent) is may

    @rows("config, category", product([DOCUMENTED, SHORT], OrgFactCategory))
    def test_people_write_everything(
        self, config: WriteAccessConfig, category: OrgFactCategory
    ) -> None:
        require_write_access(config, category, OrgFactAuthor(is_human=True))


SHORT_NAMES = {
    OrgFactCategory.CORE_POLICY: "policies",
    OrgFactCategory.ADR: "adrs",
    OrgFactCategory.PROCEDURE: "procedures",
    OrgFactCategory.CONVENTION: "conventions",
}
LEVELS = list(SeniorityLevel)
AUTHORS = [
    OrgFactAuthor(is_human=True),
    *(OrgFactAuthor(agent_id="coder", seniority=level) for level in LEVELS),
]


@rows("category, lowest, humans", product(OrgFactCategory, [None, *LEVELS], [True, False]))
def test_both_notations_let_exactly_those_write_whom_they_name(
    category: OrgFactCategory, lowest: SeniorityLevel | None, humans: bool
) -> None:
    """Every author for every category, one of which has another rule than all the others."""
    rule = {"allowed_seniority": lowest, "human_allowed": humans}
    others = {"allowed_seniority": "vp", "human_allowed": True}
    long_form = {"rules": {each.value: others for each in OrgFactCategory} | {category: rule}}
    writers = [*(["human"] if humans else []), *([lowest] if lowest else [])]
    short_form = {
        name: writers if each is category else ["human", "vp"] for each, name in SHORT_NAMES.items()
    }
    for form in (long_form, short_form):
        config = WriteAccessConfig.model_validate(form)
        for each in OrgFactCategory:
            people, level = (humans, lowest) if each is category else (True, SeniorityLevel.VP)
            first = len(LEVELS) if level is None else LEVELS.index(level)
            allowed = [people, *(at >= first for at in range(len(LEVELS)))]
            assert [check_write_access(config, each, author) for author in AUTHORS] == allowed


def test_a_category_without_a_rule_is_written_by_nobody() -> None:
    config = WriteAccessConfig(rules={OrgFactCategory.ADR: SENIOR})
    assert not check_write_access(config, OrgFactCategory.PROCEDURE, OrgFactAuthor(is_human=True))


def test_a_refusal_names_the_agent_its_level_and_the_category() -> None:
    agent = OrgFactAuthor(agent_id="coder", seniority=SeniorityLevel.MID)
    with pytest.raises(OrgMemoryAccessDeniedError) as refused:
        require_write_access(DOCUMENTED, OrgFactCategory.ADR, agent)
    assert str(refused.value).startswith(
        "Write access denied: agent coder (mid) cannot write to category 'adr'"
    )
