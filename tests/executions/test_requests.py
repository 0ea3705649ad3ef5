"""Sentences that have the words of a rule: which of them make one."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.requests import is_prompt
from synthorg_tui.ingest.extract.said import PREFERENCE, feedback, is_no_rule, reactions, statements
from tests.learning.lesson_kit import Run
from tests.tables import rows

NO_RULE = {
    "what wasn't said": (
        "I never said that you should always squash commits.",
        "I didn't say to never use mocks",
        "I don't remember saying that we always rebase",
        "Nobody asked you to always add comments",
        "Who told you to never run the linter?",
        "where did I say that you must always push?",
    ),
    "a reproach": (
        "You always break the build!",
        "you never read the docs",
        "Why do you never run the tests?",
        "you're always changing the wrong file",
        "it always fails when you touch the parser",
        "How come you are always late with that?",
    ),
    "words of others": (
        'The customer wrote: "always show prices in euros".',
        "A user complained that we never answer mails",
        "The docs say to never call close twice",
        "he said you should always reboot first",
        "According to the ticket you must always use the old parser",
        "the error message says never use this in production",
    ),
    "songs and sayings": (
        "Always look on the bright side of life is stuck in my head lol",
        "never gonna give you up, great song",
        "never say never",
        "always and forever, haha",
        "better late than never",
    ),
    "what holds once": (
        "For this one test, never use the network.",
        "just this once, don't run the linter over everything",
        "only for now, always return an empty list",
        "in this PR never touch the parser",
        "for this task always ask before editing",
        "until the demo never merge into main",
    ),
    "steps of a task": (
        "don't bump version",
        "make sure to review both code changes.",
        "Do not commit anything",
        "don't merge yet",
        "do not push it",
        "Stop and report.",
        "Do not touch or revert those unless the user explicitly asks.",
    ),
}
RULES = (
    "Always squash commits before merging",
    "never force push to main",
    "you should always use named exports",
    "we never answer mails from the cron job",
    "don't commit lock files",
    "Do not implement feature code directly in the main checkout.",
    "don't push to main without a pull request",
    "From now on write commit messages in German.",
    "use pnpm instead of npm",
    "Never release on a Friday without asking",
)
PROMPTS = (
    "You are a coordinator. Never write feature code yourself.",
    "Your name is Ada. Always answer in one sentence.",
    "<task>Never return JSON.</task>",
    "# Role\nAlways begin with the verdict.",
    "Review this.\n<rules>\nDo not commit unless explicitly asked.\n</rules>",
)


@rows("kind", NO_RULE)
def test_a_sentence_that_only_sounds_like_a_rule_makes_none(kind: str) -> None:
    for sentence in NO_RULE[kind]:
        assert is_no_rule(sentence), sentence
        assert list(statements(sentence)) == [], sentence
        assert [one for one in reactions(sentence) if one.certainty >= PREFERENCE] == [], sentence


@rows("sentence", RULES)
def test_a_rule_for_always_is_one(sentence: str) -> None:
    assert not is_no_rule(sentence)
    assert list(statements(sentence)) or reactions(sentence)


@rows("text", PROMPTS)
def test_what_a_program_or_another_agent_composed_is_nobodys_wish(text: str) -> None:
    assert is_prompt(text)
    assert list(statements(text)) == []
    assert reactions(text) == ()


@rows("text", ["you are wrong, always use tabs", "a <b> is never closed", "see # 12, never retry"])
def test_a_persons_own_words_are_no_prompt(text: str) -> None:
    assert not is_prompt(text)


@rows(
    ("said", "heard"),
    [
        ("do we even know if huh is using the pty?", ""),
        ("is that really still a problem?", ""),
        ("[Request interrupted by user]", ""),
        (
            "our PR tracks the performance branch yeah?",
            "our PR tracks the performance branch yeah?",
        ),
        ("why not add it to .gitignore?", "why not add it to .gitignore?"),
        ("use pnpm, npm breaks workspaces", "use pnpm, npm breaks workspaces"),
    ],
)
def test_a_refusal_with_a_mere_question_says_nothing(said: str, heard: str) -> None:
    output = f"The user doesn't want to proceed with this tool use. the user said:\n{said}"
    run = Run().bash("git push", output, outcome=CallOutcome.DENIED_BY_USER)
    assert feedback(run.done().calls[0]) == heard
