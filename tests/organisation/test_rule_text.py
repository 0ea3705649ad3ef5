"""Where rules begin and end in Markdown, by the shapes that people's files have."""

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.organisation.rule_text import MAX_RULE, FoundRule, find_rules
from tests.tables import rows

POLICY, CONVENTION, PROCEDURE = (
    OrgFactCategory.CORE_POLICY,
    OrgFactCategory.CONVENTION,
    OrgFactCategory.PROCEDURE,
)


def texts(text: str) -> list[str]:
    return [rule.text for rule in find_rules(text)]


def only(text: str) -> FoundRule:
    (rule,) = find_rules(text)
    return rule


def test_each_item_is_a_rule_with_its_heading_and_line() -> None:
    found = find_rules("# Shop\n\n## Git\n\n- Write short subjects.\n- Rebase before you merge.\n")
    assert [(rule.text, rule.section, rule.line) for rule in found] == [
        ("Write short subjects.", "Git", 5),
        ("Rebase before you merge.", "Git", 6),
    ]


def test_an_item_stays_together_with_what_is_nested_in_it() -> None:
    assert texts(
        "- Use fixtures:\n  - `store` for data\n  - never the network\n- Keep it fast.\n"
    ) == [
        "Use fixtures:\n  - `store` for data\n  - never the network",
        "Keep it fast.",
    ]


def test_a_wrapped_item_is_one_line() -> None:
    assert texts("- Prefer the\n  short form\n  of names.\n") == ["Prefer the short form of names."]


def test_a_code_block_belongs_to_what_stands_before_it() -> None:
    assert texts("- Format your work:\n\n  ```sh\n  make fmt\n  ```\n") == [
        "Format your work:\n```sh\nmake fmt\n```"
    ]
    assert texts("To start over, run:\n\n```sh\nmake clean\n```\n") == [
        "To start over, run:\n\n```sh\nmake clean\n```"
    ]


def test_code_that_follows_a_description_is_no_rule() -> None:
    assert texts("## Layout\n\nThe tree looks as follows.\n\n```\nsrc/\n```\n") == []


def test_sentences_of_a_paragraph_are_rules_of_their_own_with_their_reasons() -> None:
    assert texts("Use the pool. It is faster than one by one. Never block the loop.\n") == [
        "Use the pool. It is faster than one by one.",
        "Never block the loop.",
    ]


def test_a_paragraph_with_its_heading_in_bold_is_one_rule() -> None:
    told = "**Fix causes.** When a change works around a fault, say so. Ask why it is there."
    assert texts(told) == [told]


def test_a_sentence_that_points_back_keeps_the_one_it_points_to() -> None:
    assert texts("The parser is generated. Do not edit it by hand.\n") == [
        "The parser is generated. Do not edit it by hand."
    ]


@rows(
    "text",
    [
        "## Architecture\n\n- **Store**: keeps rows\n- **Reader**: parse the file into records\n",
        "## Contents\n\n- [Style](#style)\n- [Tests](#tests)\n",
        "## Commands\n\n- Build: `make`\n- Run tests: `make test`\n- `make fmt` - format it\n",
        "[![build](https://example.org/b.svg)](https://example.org)\n",
        "# Shop\n\nShop is a service that sells things. You can run it anywhere.\n",
        "## Flow\n\nThe flow is:\n\n1. Read the file.\n2. Parse the rows.\n",
        "- `add` - add a file\n- `remove` - remove a file\n",
        "<!-- Never read this. -->\n\nIt is a library.\n",
        "| Command | Meaning |\n|---|---|\n| `make` | build it |\n",
        "For more details, see the [guide](guide.md).\n",
        "",
        "\n\n---\n\n",
    ],
)
def test_descriptions_commands_and_links_are_no_rules(text: str) -> None:
    assert texts(text) == []


def test_noun_phrases_are_rules_below_a_heading_that_announces_some() -> None:
    text = "- Four spaces\n- Line length 100\n"
    assert texts(f"## Code style\n\n{text}") == ["Four spaces", "Line length 100"]
    assert texts(f"## Structure\n\n{text}") == []


def test_a_description_is_none_below_any_heading() -> None:
    assert texts("## Code style\n\n- The linter is run by the gate.\n") == []


def test_what_a_heading_turns_around_is_told_with_it() -> None:
    assert texts("## Never\n\n- Push to main\n- don't skip hooks\n") == [
        "Never: Push to main",
        "don't skip hooks",
    ]
    assert texts("**Ask first:**\n\n- Remove a test\n") == ["Ask first: Remove a test"]


def test_a_condition_before_a_list_is_told_with_each_item() -> None:
    assert texts("When you add a reader:\n\n- Write a test.\n- Update the table.\n") == [
        "When you add a reader: Write a test.",
        "When you add a reader: Update the table.",
    ]


def test_a_condition_counts_more_than_what_its_heading_is_about() -> None:
    assert texts("## Examples\n\nWhen you write one:\n\n- Show the output.\n") == [
        "When you write one: Show the output."
    ]
    assert texts("## Design\n\nFor wheels, the flow is:\n\n1. Read the file.\n2. Parse it.\n") == []


def test_a_lead_in_that_asks_stays_with_items_that_only_name_things() -> None:
    assert texts("Always look at these files first:\n\n- `a.py`\n- `b.py`\n") == [
        "Always look at these files first:\n- `a.py`\n- `b.py`"
    ]


def test_a_lead_in_that_only_announces_rules_is_left_out() -> None:
    assert texts("Follow these rules:\n\n- Use tabs.\n- Keep it short.\n") == [
        "Use tabs.",
        "Keep it short.",
    ]


def test_numbered_steps_are_one_procedure() -> None:
    rule = only(
        "## Release process\n\n1. Bump the version.\n2. Tag the commit.\n3. Push the tag.\n"
    )
    assert (rule.category, rule.line) == (PROCEDURE, 3)
    assert rule.text == "1. Bump the version.\n2. Tag the commit.\n3. Push the tag."


def test_numbered_principles_are_rules_of_their_own() -> None:
    found = find_rules("## Principles\n\n1. Keep it simple.\n2. Never guess.\n")
    assert [(rule.text, rule.category) for rule in found] == [
        ("Keep it simple.", CONVENTION),
        ("Never guess.", POLICY),
    ]


@rows(
    ("text", "category"),
    [
        ("- Never commit keys.", POLICY),
        ("- You MUST sign your commits.", POLICY),
        ("- **ALWAYS** run the gate.", POLICY),
        ("- Secrets are forbidden in tests.", POLICY),
        ("- Prefer small functions.", CONVENTION),
        ("- Names should be short.", CONVENTION),
        ("- Use tabs. A tab never lies.", CONVENTION),
        ("## Hard rules\n\n- Use tabs.", POLICY),
    ],
)
def test_what_allows_no_exception_is_a_policy(text: str, category: OrgFactCategory) -> None:
    assert only(text).category is category


def test_a_name_that_is_explained_is_a_rule_where_it_says_what_to_do_with_it() -> None:
    assert texts("- `vendor/`: copies of others. Do not edit them.\n- `src/`: the code\n") == [
        "`vendor/`: copies of others. Do not edit them."
    ]


def test_words_that_are_nouns_as_well_are_told_apart() -> None:
    assert texts("- Test suite\n- Release notes\n- Format: JSON\n- Log levels: debug, info\n") == []
    assert texts("- Test the edges.\n- Wrap indefinite waits in a timeout.\n") == [
        "Test the edges.",
        "Wrap indefinite waits in a timeout.",
    ]


def test_tags_that_stand_alone_are_headings() -> None:
    rule = only("<git_rules>\n- Write short subjects.\n</git_rules>\n")
    assert (rule.text, rule.section) == ("Write short subjects.", "git rules")


def test_other_bullets_and_boxes_are_items() -> None:
    assert texts("\u2022 Use tabs.\n\u2022 Keep it short.\n") == ["Use tabs.", "Keep it short."]
    assert texts("- [ ] Run the gate.\n- [x] Update the notes.\n") == [
        "Run the gate.",
        "Update the notes.",
    ]


def test_lines_without_marks_are_rules_where_each_begins_one() -> None:
    assert texts("Use tabs\nKeep functions short\nAvoid globals\n") == [
        "Use tabs",
        "Keep functions short",
        "Avoid globals",
    ]


def test_a_rule_is_cut_at_its_limit() -> None:
    rule = only(f"- Use this:\n\n  ```\n{'  x' * MAX_RULE}\n  ```\n")
    assert len(rule.text) == MAX_RULE
    assert rule.text.endswith("\u2026")


@rows(
    "text", ["- " * 500 + "x", "> " * 500 + "Use x.", "#" * 7, "`" * 999, "1. " * 300, "[" * 2000]
)
def test_texts_that_are_built_to_be_slow_are_read(text: str) -> None:
    assert isinstance(find_rules(text), tuple)
