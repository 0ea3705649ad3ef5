"""The fact check: what a text may say of the evidence it was written from, and what it may not."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.learning.fact_check import FactCheck
from tests.tables import rows

FAILED = "git push"
ERROR = "fatal: The current branch <branch> has no upstream branch."
WORKED = "git push --set-upstream origin <branch>"
PUSH = FactCheck((FAILED, ERROR, WORKED, f"Run `{WORKED}` instead."), failed=FAILED)
SAID = "i would only want e2e tests for AgentSession, don't use mocks. use the real server"
RULE = FactCheck((SAID, "edit test/agent-session.test.ts"))

WORD = st.from_regex(r"\A(?:[a-z]{1,8}|--?[a-z]{2,6}|[a-z]{1,5}/[a-z]{1,5}\.py|[0-9]{1,4})\Z")


@rows(
    "text",
    [
        f"Run `{WORKED}` when the branch has no upstream",
        "`git push` reports that the current branch has no upstream branch",
        "Git does not know yet which remote branch to push to.",
        "Run `git push` again: it passes without the error.",
        "The push passes with --set-upstream.",
    ],
)
def test_a_paraphrase_of_the_evidence_passes(text: str) -> None:
    assert PUSH.refusal(text) == ""


@rows(
    ("text", "named"),
    [
        ("Run `git push --force` instead", "`git push --force`"),
        ("Push it with --force", "'--force'"),
        ("Run `git push -u origin <branch>`", "`git push -u origin <branch>`"),
        ("See /etc/gitconfig for it", "'/etc/gitconfig'"),
        ("Try again after 30 seconds", "'30'"),
        ("Try again three times", "'three'"),
        ("Set the pushDefault option", "'pushDefault'"),
        ("Set push_default first", "'push_default'"),
        ("Use Docker for it", "'Docker'"),
        ("Set it up with npm first", "'npm'"),
        ("It says “permission denied” then", "“permission denied”"),
        ("Push to <server> first", "'<server>'"),
        ("Always set the upstream branch", "'Always'"),
        ("Delete the current branch", "'Delete'"),
        ("The push needs the branch, and another one was set", "'another'"),
        ("The push was made, but `git push` still failed", "'still'"),
    ],
)
def test_what_the_evidence_does_not_have_is_refused_by_its_name(text: str, named: str) -> None:
    assert PUSH.refusal(text) == f"has {named}, which the evidence doesn't"


def test_a_reason_that_is_mostly_of_its_own_making_is_refused() -> None:
    own = "The push helps reviewers so that colleagues discuss changes before release"
    assert PUSH.refusal(own) == "speaks mostly of what the evidence doesn't"
    assert PUSH.refusal("The push needs the upstream branch, which colleagues discuss") == ""


def test_the_name_of_a_tool_may_be_a_plain_verb() -> None:
    check = FactCheck(("./run.sh: Permission denied", "chmod +x run.sh"))
    assert check.refusal("chmod is needed to make the file executable") == ""
    assert "'make'" in check.refusal("Run it with make instead")


def test_a_number_that_is_only_part_of_one_in_the_evidence_is_unknown() -> None:
    check = FactCheck(("listens on 15432, version 1.59",))
    assert check.refusal("It listens on 15432") == ""
    assert "'5432'" in check.refusal("It listens on 5432")
    assert "'59'" in check.refusal("It needs version 59")


def test_the_case_of_a_flag_counts_that_of_a_word_does_not() -> None:
    check = FactCheck(("tar -x archive.TAR",))
    assert check.refusal("Call it with -x on archive.tar") == ""
    assert "'-X'" in check.refusal("Call it with -X")


@rows(
    ("check", "text", "why"),
    [
        (PUSH, "Do not push the current branch", "negates 'push'"),
        (PUSH, "The branch is new, so don't push it", "negates 'push'"),
        (RULE, "Use mocks for AgentSession", "says 'use', which the evidence negates"),
        (RULE, "Don't use the real server", "negates 'use'"),
    ],
)
def test_a_negation_that_was_added_or_lost_is_refused(
    check: FactCheck, text: str, why: str
) -> None:
    assert why in check.refusal(text)


def test_a_negation_that_stands_in_the_evidence_passes() -> None:
    assert RULE.refusal("Write only e2e tests for AgentSession and don't use mocks") == ""


def test_what_was_not_so_before_the_remedy_is_no_flipped_negation() -> None:
    error = "vite: not found. The lock file is protected"
    check = FactCheck((error, "npm install", "Install the packages."), stated=error)
    assert check.refusal("The packages were not installed yet, so vite was missing") == ""
    assert "negates 'protected'" in check.refusal("The lock file was not protected")


@given(st.lists(WORD, min_size=1, max_size=12), st.data())
def test_a_text_of_words_of_the_evidence_has_nothing_unknown(
    words: list[str], data: st.DataObject
) -> None:
    text = data.draw(st.lists(st.sampled_from(words), min_size=1, max_size=12))
    assert FactCheck((" ".join(words),)).unknown(" ".join(text)) == ""


@given(
    st.lists(WORD, max_size=8),
    st.from_regex(r"\A(?:--[a-z]{3,9}|[a-z]{2,6}/[a-z]{2,6}|[0-9]{2,7}|[a-z]{2,6}\.(?:py|ts))\Z"),
    st.lists(st.sampled_from(["the", "run", "with", "it", "then"]), max_size=4),
)
def test_a_flag_path_or_number_of_its_own_is_refused(
    evidence: list[str], own: str, around: list[str]
) -> None:
    source = " ".join(word for word in evidence if own not in word)
    assert FactCheck((source,)).refusal(" ".join([*around, own, *around])) != ""
    assert FactCheck((source,)).refusal(f"Run `{own}` then") != ""


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(PUSH.refusal(text), str)


@rows(
    ("text", "did"),
    [
        ("`mix deps.get` added `lazy_html` to the dependencies.", "mix deps.get"),
        ("`mix deps.get` needs to add the dependency.", "mix deps.get"),
        ("`lazy_html` was added by running `mix deps.get`, so it is there.", "mix deps.get"),
        ("`npm run check` puts files into form.", ""),
        ("`npm run check` updates the lock file.", ""),
        ("`git add` adds them.", ""),
    ],
)
def test_what_a_command_changed_has_to_be_told(text: str, did: str) -> None:
    told = "`npm run check` puts files into form. `npm run check` updates the lock file."
    check = FactCheck(("git add lazy_html", "add it to mix.exs", "mix deps.get", told))
    expected = f"says what `{did}` did, which the evidence doesn't" if did else ""
    assert check.refusal(text) == expected


@rows(
    ("title", "is_told"),
    [
        ("Add `lazy_html` to mix.exs with `mix deps.get`", False),
        ("Add the dependency with `mix deps.get`", False),
        ("Add the dependency with `mix deps.add`", True),
        ("Update the lock file with `npm run check`", True),
        ("Create the dependency with `npm run check`", False),
    ],
)
def test_a_title_has_nothing_done_with_a_command_that_does_something_else(
    title: str, is_told: bool
) -> None:
    told = "`npm run check` updates the lock file. create, add the dependency lazy_html to mix.exs"
    check = FactCheck((told, "mix deps.get", "mix deps.add"))
    assert ("says what" in check.refusal(title)) is not is_told


@rows(
    ("text", "is_told"),
    [
        ("`mix test` needs `lazy_html`, which was not there.", True),
        ("`mix test` requires `lazy_html` as a test dependency.", True),
        ("Phoenix requires `lazy_html` for the test.", True),
        ("`mix deps.get` needs to be run, because `lazy_html` was not there.", True),
        ("`mix deps.get` needs the dependency for a test.", False),
        ("So mix deps.get needs the dependency.", False),
    ],
)
def test_what_needs_something_is_what_failed(text: str, is_told: bool) -> None:
    error = "Phoenix requires lazy_html as a test dependency"
    done = "mix deps.get; there was no lazy_html"
    check = FactCheck(("mix test", error, done), failed="mix test", stated=error)
    assert ("says what" in check.refusal(text)) is not is_told
