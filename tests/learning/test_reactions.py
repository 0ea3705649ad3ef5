"""What counts as a person's wish about how to work, and what doesn't."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import has_hidden
from synthorg_tui.ingest.extract.said import (
    MAX_RULE,
    MAX_SAID,
    PASSING,
    PREFERENCE,
    STANDING,
    asked_whether_done,
    reactions,
    told_instead,
    undoing,
)
from tests.tables import rows

RULES = [
    (
        "i'd only want integration tests for Ledger, the rest is noise.",
        "Only integration tests for Ledger",
    ),
    ("Always run the tests before you commit.", "Always run the tests before you commit"),
    ("Always use pnpm, never npm.", "Always use pnpm, never npm"),
    ("Always run the tests, never skip them.", "Always run the tests, never skip them"),
    ("ok, but never force push to main please", "Never force push to main please"),
    ("you should always use named exports", "Always use named exports"),
    ("I want you to never edit generated files", "Never edit generated files"),
    ("From now on write commit messages in German.", "From now on write commit messages in German"),
    ("from now on our tests must run in parallel", "From now on our tests must run in parallel"),
    ("you haven't read docs/design.md in full", "Read design.md in full"),
    ("you didn't read the whole file", "Read the whole file"),
    ("we only use pnpm in this repository", "Only use pnpm in this repository"),
    ("Can you never commit without asking me first?", "Never commit without asking me first"),
    ("Verwende immer pnpm statt npm", "“Verwende immer pnpm statt npm”"),
]
PREFERENCES = [
    ("we don't use semicolons in this repo", "Don't use semicolons in this repo"),
    ("you keep forgetting to update the changelog", "Update the changelog"),
    ("I prefer composition over inheritance", "Prefer composition over inheritance"),
    ("Make sure to run the linter before pushing", "Run the linter before pushing"),
    ("don't add comments to every function", "Don't add comments to every function"),
    ("stop using default exports", "Stop using default exports"),
    ("use pnpm instead of npm", "Use pnpm instead of npm"),
    ("Please use tabs, not spaces", "Use tabs, not spaces"),
    ("you forgot to run the tests", "Run the tests"),
    ("you didn't update the changelog", "Update the changelog"),
    ("I told you not to mock databases", "Don't mock databases"),
    ("i told you to use absolute imports", "Use absolute imports"),
    ("why do you keep adding docstrings everywhere", "Stop adding docstrings everywhere"),
    ("why do you guess versions all the time, idiot", "Don't guess versions all the time"),
    (
        "Remember to regenerate snapshots after style changes",
        "Regenerate snapshots after style changes",
    ),
    ("you shouldn't commit lock files", "Don't commit lock files"),
    ("as i said, use fixtures rather than mocks", "Use fixtures rather than mocks"),
    ("I didn't ask for a refactoring of tests", "“I didn't ask for a refactoring of tests”"),
    (
        "Hör auf, Kommentare auf Englisch zu schreiben",
        "“Hör auf, Kommentare auf Englisch zu schreiben”",
    ),
    ("deja de usar mocks en las pruebas", "“deja de usar mocks en las pruebas”"),
    ("arrête de modifier les fichiers générés", "“arrête de modifier les fichiers générés”"),
]
IN_PASSING = [
    "don't touch src/config.ts",
    "don't change the header yet",
    "don't write any code, only plan",
    "no, use the second option instead of the first one here",
    "I actually want to move those files to their final place",
    "you forgot to add the import of parseDate",
    "if the build breaks, don't push",
    "stop doing that in LedgerView",
    "never do this again in here",
    "Always show the total in the header",
]
NOTHING = [
    "In the future we may add more providers",
    "from now on the server runs on port 3000",
    "From now on, CI is on the other machine",
    "the staging database lives in Oslo from now on",
    "only run the unit tests",
    "You should never have to restart the server",
    "you broke the build again",
    "always got this error since yesterday",
    "don't you think a queue is better",
    "it's always the same problem with this library",
    "",
    "continue",
    "ok",
    "thanks, that's great!",
    "no, that's horrible.",
    "wow, it works",
    "why does the build always fail?",
    "it never worked on my machine",
    "the tests always pass locally",
    "what happens if we never call close()?",
    "should we always retry?",
    "never mind",
    "Don't worry about the warnings",
    "i don't think that is right",
    "you don't need to ask",
    "do you remember the plan?",
    "Add a page that lists users, with pagination and a search box",
    "Fix the flaky test in ledger_test.py",
    "alright, let's tackle main.ts. read it in full, suggest how we can split it",
    "can we make this less dumb and more concise?",
    "i think we only do this in interactive mode no?",
    "i've never seen this before",
    "I only want to know why it fails",
    "we only need two endpoints",
    "that would better indicate where the result is shown, no?",
    "why are there 2 handlers?",
    "why do you think so?",
    "ls",
    "yes do it",
    "```\nalways use tabs\n```",
    "> never push to main",
    "ERROR: you should never call close() twice",
    "    always run the migrations first",
    "2026-03-01 12:00:00 never retry this job",
    "so the cache is always empty after a restart, and never filled",
    "Immer noch kaputt, was ist los?",
    "Das habe ich noch nie gesehen",
    "siempre falla en mi máquina",
    "ça ne marche jamais chez moi",
    "merci, c'est toujours mieux comme ça",
]


@rows(("text", "rule"), RULES)
def test_a_rule_in_general_words_stands_after_one_turn(text: str, rule: str) -> None:
    (reaction,) = reactions(text)

    assert reaction.rule == rule
    assert reaction.certainty == STANDING


@rows(("text", "rule"), PREFERENCES)
def test_a_wish_that_names_nothing_of_the_moment_is_a_preference(text: str, rule: str) -> None:
    (reaction,) = reactions(text)

    assert reaction.rule == rule
    assert reaction.certainty == PREFERENCE


@rows("text", IN_PASSING)
def test_what_is_said_of_one_file_or_one_moment_is_no_rule_yet(text: str) -> None:
    assert all(reaction.certainty == PASSING for reaction in reactions(text))


@rows("text", NOTHING)
def test_questions_thanks_tasks_facts_and_logs_correct_nothing(text: str) -> None:
    assert reactions(text) == ()


@rows(
    ("text", "verb"),
    [
        ("did you push?", "push"),
        ("are we all commited?", "commit"),
        ("ok, have you run the tests?", "run"),
        ("did you like it?", ""),
        ("push it", ""),
        ("is it committed", ""),
    ],
)
def test_a_question_whether_something_is_done_is_told_from_others(text: str, verb: str) -> None:
    assert asked_whether_done(text) == verb


@rows(
    ("text", "undoes"),
    [
        ("actually, can you revert that? we keep the old parser for tests", True),
        ("please undo the changes to the parser module", True),
        ("mach das bitte rückgängig, der Parser bleibt", True),
        ("add an undo button to the toolbar", False),
        ("the revert command of git is new to me", False),
    ],
)
def test_a_turn_that_has_work_undone_is_told_from_one_about_undoing(
    text: str, undoes: bool
) -> None:
    assert (undoing(text) is not None) is undoes


@rows(
    ("reason", "certainty"),
    [
        ("use pnpm, npm breaks workspaces", PREFERENCE),
        ("that table is read by reports here", PASSING),
        ("why?", None),
        ("no", None),
    ],
)
def test_a_reason_for_a_refusal_is_an_instruction(reason: str, certainty: float | None) -> None:
    reaction = told_instead(reason)

    assert (reaction.certainty if reaction else None) == certainty


def test_the_same_wish_in_other_words_is_about_the_same() -> None:
    (first,) = reactions("you haven't read src/a.py in full")
    (again,) = reactions("you need to read the parser in full to do this well")

    assert first.topic == again.topic


def test_of_a_long_task_only_what_is_said_to_last_counts() -> None:
    steps = "\n".join(f"Make page {number} show its own title." for number in range(20))

    assert reactions(f"{steps}\nNever use tables for layout.") == ()
    assert len(reactions(f"{steps}\nFrom now on use flex boxes for layout.")) == 1


def test_a_wish_far_down_in_a_turn_belongs_to_its_task() -> None:
    task = "Make the page faster. Cache every image. Load fonts late."

    assert [one.certainty for one in reactions(f"{task} Don't use inline styles.")] == [PASSING]
    assert [one.certainty for one in reactions("Don't use inline styles.")] == [PREFERENCE]


@given(st.text(max_size=2_500))
def test_any_text_is_understood_or_passed_over(text: str) -> None:
    for wish in (f"always use {text}", f"don't {text} ever please", text):
        for reaction in (*reactions(wish), told_instead(wish), undoing(wish)):
            if reaction is not None:
                assert 0 < len(reaction.rule) <= MAX_RULE
                assert 0 < len(reaction.said) <= MAX_SAID
                assert not has_hidden(reaction.rule + reaction.said)
                assert "\n" not in reaction.rule + reaction.said
    asked_whether_done(text)


def test_hidden_characters_are_removed_from_what_is_quoted() -> None:
    (reaction,) = reactions("always use\u200b ta\u202ebs in \u2066makefiles\U000e0041")

    assert reaction.said == "always use tabs in makefiles"


def test_endless_words_are_read_in_no_time() -> None:
    for piece in ("a ", "never ", "don't ", "use x ", ", ", "no ", "../", "you "):
        assert len(reactions(piece * 20_000)) <= 1
