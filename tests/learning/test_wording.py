"""Words of a model for a lesson: kept beside code's, chosen where they are better, never worse."""

import json
import threading

import pytest

from synthorg_tui.curation.models import (
    Author,
    Lesson,
    LessonKind,
)
from synthorg_tui.learning.capture import FailureCaptureStrategy
from synthorg_tui.learning.proposer import WordingCancelledError
from synthorg_tui.learning.wording import (
    ProceduralMemoryProposer,
    Worded,
    lacks_reason,
    lesson_request,
)
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.errors import CompletionError
from tests.learning.lesson_kit import Run
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

CONFIG = ProceduralMemoryConfig()
ANSWER = {
    "reasoning": "The branch is new.",
    "why": "The branch has no upstream branch yet, so `git push` needs one.",
}


def captured() -> Lesson:
    run = Run().bash(
        "git push", "fatal: The current branch retry-fetch has no upstream branch.", code=128
    )
    run.bash("git push -u origin retry-fetch", "branch 'retry-fetch' set up to track.")
    (found,) = FailureCaptureStrategy().capture(run.done())
    return found


def lacking(**texts: str) -> Lesson:
    """A lesson whose reason only tells that something helped."""
    poor = {"rationale": "The error was gone."}
    lesson = captured()
    plain = lesson.grounded.model_copy(update={**poor, **texts})
    return lesson.model_copy(update={"proposal": plain, "grounded": plain})


async def propose(provider: ScriptedProvider | None, **config: object) -> Worded | None:
    settings = CONFIG.model_copy(update=config)
    return await ProceduralMemoryProposer(settings, provider).propose(lacking())


async def worded(**fields: object) -> Lesson:
    found = await propose(ScriptedProvider(json.dumps({**ANSWER, **fields})))
    assert found is not None
    return found.lesson


def other_lesson() -> Lesson:
    (seen,) = lacking().evidence
    other = seen.model_copy(update={"error": "fatal: no upstream branch at all"})
    return lacking().model_copy(update={"evidence": (other,)})


async def test_without_a_model_the_grounded_draft_is_the_proposal() -> None:
    found = await propose(None)
    assert found is not None
    assert found.lesson == lacking()


async def test_the_models_texts_are_kept_beside_those_of_code() -> None:
    lesson = await worded()
    assert lesson.grounded == lacking().grounded
    assert lesson.evidence == lacking().evidence
    assert lesson.suggested is not None
    assert lesson.suggested.rationale == lesson.proposal.rationale == ANSWER["why"]
    assert lesson.authors["rationale"] is Author.MODEL
    assert lesson.suggested.action == lesson.grounded.action
    assert lesson.suggested.execution_steps == lesson.grounded.execution_steps
    assert lesson.refused == {}


async def test_what_is_refused_leaves_codes_reason_and_says_why() -> None:
    lesson = await worded(why="The server at 10.0.0.1 has no upstream yet.")
    assert lesson.refused == {"rationale": "why has '10.0.0.1', which the evidence doesn't"}
    assert lesson.suggested is None
    assert lesson.proposal == lesson.grounded


@rows("answer", ["", "null", "{}", "I'm sorry, I can't help with that.", "\x1b[2J\u202eevil"])
async def test_garbage_changes_no_text(answer: str) -> None:
    found = await propose(ScriptedProvider(answer))
    assert found is not None
    assert found.lesson.proposal == found.lesson.grounded == lacking().grounded
    assert found.lesson.suggested is None


async def test_a_lesson_of_before_has_neither_suggestion_nor_refusals() -> None:
    old = json.loads(captured().model_dump_json())
    del old["suggested"], old["refused"]
    assert Lesson.model_validate(old) == captured()


async def test_a_lesson_that_is_too_uncertain_is_no_proposal_and_costs_nothing() -> None:
    provider = ScriptedProvider()
    certainty = captured().proposal.confidence
    assert await propose(provider, min_confidence=certainty + 0.01) is None
    assert provider.asked == []
    assert await propose(None, min_confidence=certainty) is not None


@rows("error", [BUSY, REFUSED])
async def test_what_the_model_raises_is_raised(error: CompletionError) -> None:
    with pytest.raises(CompletionError):
        await propose(ScriptedProvider(error))


async def test_it_is_asked_once_within_the_tokens_of_a_lesson() -> None:
    provider = ScriptedProvider(json.dumps(ANSWER))
    await propose(provider, max_tokens=77)
    ((_, options),) = provider.asked
    assert options.max_tokens == 77


async def test_names_of_one_run_are_not_shown_and_not_taken() -> None:
    provider = ScriptedProvider(
        json.dumps({**ANSWER, "why": "Since retry-fetch has no upstream branch yet"})
    )
    found = await propose(provider)
    assert "retry-fetch" not in provider.prompts[0]
    assert r"git push -u origin <\branch>" in provider.prompts[0]
    assert found is not None
    assert "'retry-fetch'" in found.lesson.refused["rationale"]


@rows("copied", [r"<\branch>", r"<\\branch>"])
async def test_a_placeholder_may_be_copied_as_the_fence_shows_it(copied: str) -> None:
    answer = json.dumps({**ANSWER, "why": "Since the branch <branch> has no upstream branch"})
    plain = await propose(ScriptedProvider(answer))
    found = await propose(ScriptedProvider(answer.replace("<branch>", copied)))
    assert plain is not None
    assert found is not None
    assert found.lesson == plain.lesson
    assert found.lesson.refused == {}


async def test_a_cancelled_lesson_stays_as_it_is() -> None:
    cancel = threading.Event()
    cancel.set()
    proposer = ProceduralMemoryProposer(CONFIG, ScriptedProvider(json.dumps(ANSWER)))
    with pytest.raises(WordingCancelledError):
        await proposer.propose(lacking(), cancel=cancel)


async def test_a_lesson_whose_texts_are_good_takes_no_time() -> None:
    provider, lesson = ScriptedProvider(), captured()
    found = await ProceduralMemoryProposer(CONFIG, provider).propose(lesson)
    assert found is not None
    assert found.lesson == lesson
    assert provider.asked == []


@rows("kind", [LessonKind.HABIT, LessonKind.SUCCESS, LessonKind.CORRECTION])
def test_only_failures_are_explained_by_a_model(kind: LessonKind) -> None:
    assert lacks_reason(lacking())
    assert not lacks_reason(lacking().model_copy(update={"kind": kind}))


async def test_what_is_the_same_for_all_lessons_comes_first() -> None:
    one, other = ScriptedProvider("{}"), ScriptedProvider("{}")
    await ProceduralMemoryProposer(CONFIG, one).propose(lacking())
    await ProceduralMemoryProposer(CONFIG, other).propose(other_lesson())
    assert one.asked[0][0][:-1] == other.asked[0][0][:-1]
    assert one.asked[0][0][-1] != other.asked[0][0][-1]


def test_of_long_evidence_the_beginning_is_shown() -> None:
    (seen,) = (lesson := lacking()).evidence
    long = seen.model_copy(update={"error": "fatal: no upstream " + "x" * 5_000})
    shown = lesson_request(lesson.model_copy(update={"evidence": (long,)})).evidence["error"]
    assert shown.startswith("fatal: no upstream")
    assert len(shown) < 400


@rows(
    ("code", "lacks"),
    [
        ("`a` failed; it worked.", True),
        ("After it the error was gone.", True),
        ("The error itself asks for that line.", True),
        ("`a` failed in another directory.", False),
        ("A branch has no upstream until then.", False),
        ("It needs one. The error itself asks for that line.", False),
        ("Git can't stage through a link.", False),
    ],
)
def test_a_model_is_asked_where_code_names_no_cause(code: str, lacks: bool) -> None:
    assert lacks_reason(lacking(rationale=code)) is lacks


async def test_a_reason_without_a_cause_is_only_kept() -> None:
    lesson = await worded(why="`git push` failed before the branch was pushed.")
    assert lesson.suggested is not None
    assert lesson.proposal == lesson.grounded
