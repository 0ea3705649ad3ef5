"""Lessons made of evidence: what holds for the next time, and how certain it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import has_hidden
from synthorg_tui.curation.models import WORDED_FIELDS, Author, Lesson
from synthorg_tui.learning.drafting import (
    MAX_CERTAINTY,
    certainty_of_lesson,
    merged,
    mistake_lesson,
)
from synthorg_tui.learning.mistakes import find_mistakes
from tests.learning.lesson_kit import BRANCH, Run

ADVICE = "To push the current branch, use\n\n    git push -u origin {branch}"


def lesson(session: str = "s1", branch: str = BRANCH, *, known: bool = True) -> Lesson:
    error = f"fatal: The current branch {branch} has no upstream branch.\n"
    run = Run(session, branch=branch if known else None).bash(
        "git push 2>&1", error + ADVICE.format(branch=branch), code=128
    )
    run.bash(f"git push -u origin {branch} 2>&1", f"branch '{branch}' set up to track 'origin'.")
    execution = run.done()
    (found,) = find_mistakes(execution)
    return mistake_lesson(execution, found)


def test_a_command_for_outside_of_the_sandbox_is_asked_for_by_the_tool_s_own_argument() -> None:
    denied = "Error: listen EPERM: operation not permitted 127.0.0.1:3000"
    run = Run().bash("vitest run", denied, code=1).bash("require_escalated vitest run", "ok")
    execution = run.done()
    (found,) = find_mistakes(execution)
    proposal = mistake_lesson(execution, found).proposal
    assert proposal.discovery == "Run `vitest` outside of the sandbox (`require_escalated`)"
    assert proposal.action == (
        "Run `vitest` with `sandbox_permissions` set to `require_escalated`."
    )


def test_every_field_is_written_from_evidence() -> None:
    drawn = lesson()
    proposal = drawn.proposal
    assert proposal.name == "git-push-no-upstream"
    assert proposal.discovery == "Run `git push` with `-u origin <branch>`"
    assert proposal.condition == (
        "git push says the current branch has no upstream branch, or before the first push of a "
        "new branch."
    )
    assert proposal.action == (
        "Run `git push -u origin <branch>` instead. "
        "Here `<branch>` is the name of the branch you are on."
    )
    assert proposal.rationale == (
        "A new branch has no counterpart on the remote until a push sets one. "
        "The error itself names the command that works."
    )
    assert proposal.check == "`git push` ends without that error."
    assert proposal.execution_steps == ()
    assert drawn.authors == dict.fromkeys(WORDED_FIELDS, Author.EVIDENCE)


def test_the_evidence_is_what_was_run_with_its_lines() -> None:
    (evidence,) = lesson().evidence
    assert evidence.failed == "git push 2>&1"
    assert evidence.resolved_by == f"git push -u origin {BRANCH} 2>&1"
    assert evidence.lines == "claude_code:s1#L2-L5"
    assert "no upstream branch" in evidence.error


def test_the_same_mistake_on_another_branch_is_the_same_lesson() -> None:
    assert lesson().key == lesson("s2", "fix/tides-2").key == lesson("s3", "x-9", known=False).key


def test_another_agent_has_its_own_lesson() -> None:
    run = Run(agent="codex").bash("git push", "fatal: has no upstream branch", code=128)
    execution = run.bash("git push -u origin b", "ok").done()
    (found,) = find_mistakes(execution)
    assert mistake_lesson(execution, found).key.startswith("failure|codex|git push|")


def test_evidence_of_further_runs_raises_recurrence_and_certainty() -> None:
    first, second, third = lesson("s1"), lesson("s2"), lesson("s3")
    twice = merged(first, second)
    assert (first.recurrence, twice.recurrence) == (1, 2)
    assert first.proposal.confidence < twice.proposal.confidence
    assert twice.proposal.confidence == certainty_of_lesson(first.proposal.confidence, 2)
    thrice = merged(twice, third)
    assert thrice.proposal.confidence == pytest.approx(
        certainty_of_lesson(first.proposal.confidence, 3), abs=0.002
    )


def test_the_same_evidence_again_changes_nothing() -> None:
    first = lesson("s1")
    assert merged(first, lesson("s1")) is first


def test_words_from_before_lessons_had_names_give_way_unless_somebody_reworded_them() -> None:
    fresh = lesson("s1")
    words = {"name": "", "check": "", "discovery": "Run `git push -u` when `git push` fails"}
    old = fresh.proposal.model_copy(update=words)
    dated = fresh.model_copy(update={"proposal": old, "grounded": old})
    assert merged(dated, fresh).proposal == fresh.proposal
    assert merged(dated, lesson("s2")).recurrence == 2
    mine = dated.model_copy(update={"proposal": old.model_copy(update={"action": "Push it."})})
    assert merged(mine, fresh) is mine
    assert merged(dated, dated) is dated


@given(st.floats(0.0, 1.0), st.integers(1, 1000))
def test_certainty_grows_and_stays_within_its_bound(once: float, runs: int) -> None:
    now, later = certainty_of_lesson(once, runs), certainty_of_lesson(once, runs + 1)
    assert 0.0 <= now <= later <= MAX_CERTAINTY


def test_secrets_do_not_reach_the_evidence() -> None:
    token = "ghp_" + "a1B2" * 9
    run = Run().bash(f"git push https://{token}@x.test", "fatal: rejected, no upstream", code=1)
    execution = run.bash(f"git push -u https://{token}@x.test b", "ok").done()
    for found in find_mistakes(execution):
        assert token not in mistake_lesson(execution, found).model_dump_json()


HOSTILE = st.text(min_size=1, max_size=60)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_calls_give_clean_lessons_or_none(word: str, error: str, fix: str) -> None:
    run = Run().bash(f"git push {word}", f"fatal: rejected {error}", code=1)
    execution = run.bash(f"git push {fix}", error).done()
    for found in find_mistakes(execution):
        proposal = mistake_lesson(execution, found).proposal
        texts = [str(getattr(proposal, name)) for name in WORDED_FIELDS]
        for text in (*texts, *proposal.execution_steps):
            assert not has_hidden(text)
            assert "\n" not in text


def test_a_lesson_counts_the_calls_that_it_would_have_saved() -> None:
    once = lesson("s1")
    run = Run("s2").bash("git push", "fatal: has no upstream branch", code=128)
    run.bash("git push origin", "fatal: invalid refspec, must be a name", code=128)
    execution = run.bash("git push -u origin b", "ok").done()
    (found,) = find_mistakes(execution)
    twice = mistake_lesson(execution, found)
    assert (once.saved_calls, twice.saved_calls) == (1, 2)
