"""Words of a model for a lesson: kept beside code's, chosen where they are better, never worse."""

import json
import threading

import pytest

from synthorg_tui.curation.models import (
    Author,
    Evidence,
    Lesson,
    LessonKind,
)
from synthorg_tui.learning.capture import FailureCaptureStrategy
from synthorg_tui.learning.lessons import LessonWords, grounded_lesson
from synthorg_tui.learning.proposer import WordingCancelledError
from synthorg_tui.learning.wording import (
    FIELD_OF,
    ProceduralMemoryProposer,
    Worded,
    is_better,
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
    "name": "git-push-no-upstream",
    "title": "Run `git push -u origin <branch>` for a new branch",
    "when": "`git push` reports that the branch has no upstream",
    "why": "The branch has no upstream branch yet, so `git push` needs one.",
    "check": "See that `git push` says nothing of an upstream branch.",
}


def captured() -> Lesson:
    run = Run().bash(
        "git push", "fatal: The current branch retry-fetch has no upstream branch.", code=128
    )
    run.bash("git push -u origin retry-fetch", "branch 'retry-fetch' set up to track.")
    (found,) = FailureCaptureStrategy().capture(run.done())
    return found


def lacking(**texts: str) -> Lesson:
    """A lesson of whose texts none is as good as it should be, but for those given."""
    poor = {
        "name": "",
        "discovery": "`git push` fails",
        "condition": "`git push` says that the branch has no upstream branch; " * 4,
        "rationale": "`git push` failed; it worked.",
        "check": "",
    }
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


GOOD_TEXTS = {
    "name": "git-push-no-upstream",
    "discovery": "Push a new branch with `git push -u`",
    "condition": "`git push` reports that the branch has no upstream",
    "rationale": "A branch has no upstream until a push sets one.",
    "check": "See that it is pushed.",
}


def correction() -> Lesson:
    said = "no, never push to main. open a PR"
    seen = Evidence(
        execution="e1", lines="e1#L1-L2", agent_id="a1", failed="git push origin main", error=said
    )
    words = LessonWords(
        name="push-main-open-pr",
        title="Never push to main",
        when="working in x on anything to do with: push, main",
        do=f"Do as the person said: “{said}”.",
        why="A person said so.",
    )
    return grounded_lesson(
        Run().done(),
        LessonKind.CORRECTION,
        "correction|a1|x",
        words,
        [seen],
        certainty=0.7,
        tags=(),
    )


async def test_without_a_model_the_grounded_draft_is_the_proposal() -> None:
    found = await propose(None)
    assert found is not None
    assert found.lesson == lacking()


async def test_the_models_texts_are_kept_beside_those_of_code() -> None:
    lesson = await worded()
    assert lesson.grounded == lacking().grounded
    assert lesson.evidence == lacking().evidence
    assert lesson.suggested is not None
    for name, field in FIELD_OF.items():
        if name in ANSWER:
            assert getattr(lesson.suggested, field) == ANSWER[name]
    assert lesson.suggested.action == lesson.grounded.action
    assert lesson.suggested.execution_steps == lesson.grounded.execution_steps
    assert lesson.refused == {}


async def test_what_is_chosen_is_signed_by_the_model_and_the_rest_by_code() -> None:
    proposer = ProceduralMemoryProposer(CONFIG, ScriptedProvider(json.dumps(ANSWER)))
    found = await proposer.propose(lacking(name="git-push", check="Look at it."))
    assert found is not None
    lesson = found.lesson
    chosen = {field for field, author in lesson.authors.items() if author is Author.MODEL}
    assert chosen == {"discovery", "condition", "rationale"}
    for field in FIELD_OF.values():
        taken = lesson.suggested if field in chosen else lesson.grounded
        assert getattr(lesson.proposal, field) == getattr(taken, field)


async def test_what_is_refused_falls_back_alone_and_says_why() -> None:
    lesson = await worded(name="git-push-yarn", why="The server at 10.0.0.1 has no upstream yet.")
    assert lesson.refused == {
        "name": "name has 'yarn', which the evidence doesn't",
        "rationale": "why has '10.0.0.1', which the evidence doesn't",
    }
    assert lesson.suggested is not None
    assert lesson.suggested.rationale == lesson.grounded.rationale
    assert lesson.suggested.condition == ANSWER["when"]


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


async def test_an_answer_has_room_for_its_fields_and_for_no_more() -> None:
    few, many = ScriptedProvider("{}"), ScriptedProvider("{}")
    await propose(many)
    one = lacking(**{**GOOD_TEXTS, "discovery": "`git push` fails"})
    await ProceduralMemoryProposer(CONFIG, few).propose(one)
    assert few.asked[0][1].max_tokens < many.asked[0][1].max_tokens < CONFIG.max_tokens


async def test_names_of_one_run_are_not_shown_and_not_taken() -> None:
    provider = ScriptedProvider(json.dumps({**ANSWER, "when": "retry-fetch has no upstream"}))
    found = await propose(provider)
    assert "retry-fetch" not in provider.prompts[0]
    assert r"git push -u origin <\branch>" in provider.prompts[0]
    assert found is not None
    assert "'retry-fetch'" in found.lesson.refused["condition"]


@rows("copied", [r"<\branch>", r"<\\branch>"])
async def test_a_placeholder_may_be_copied_as_the_fence_shows_it(copied: str) -> None:
    answer = json.dumps({**ANSWER, "when": "The branch <branch> has no upstream"})
    plain = await propose(ScriptedProvider(answer))
    found = await propose(ScriptedProvider(answer.replace("<branch>", copied)))
    assert plain is not None
    assert found is not None
    assert found.lesson == plain.lesson
    assert "condition" not in found.lesson.refused


async def test_a_cancelled_lesson_stays_as_it_is() -> None:
    cancel = threading.Event()
    cancel.set()
    proposer = ProceduralMemoryProposer(CONFIG, ScriptedProvider(json.dumps(ANSWER)))
    with pytest.raises(WordingCancelledError):
        await proposer.propose(lacking(), cancel=cancel)


def asked(lesson: Lesson) -> list[str]:
    return [field.name for field in lesson_request(lesson).fields]


async def test_a_lesson_whose_texts_are_good_takes_no_time() -> None:
    provider, lesson = ScriptedProvider(), captured()
    found = await ProceduralMemoryProposer(CONFIG, provider).propose(lesson)
    assert found is not None
    assert found.lesson == lesson
    assert provider.asked == []


def test_a_model_is_asked_only_for_what_code_lacks() -> None:
    assert asked(lacking(**GOOD_TEXTS)) == []
    told = {**GOOD_TEXTS, "rationale": "The error was gone."}
    assert asked(lacking(**told)) == ["why"]
    assert asked(lacking(**{**GOOD_TEXTS, "discovery": "`git push` fails"})) == ["title"]
    assert asked(lacking()) == ["name", "title", "when", "why", "check"]


def test_what_counts_runs_is_not_shown_to_a_model() -> None:
    habit = lacking().model_copy(update={"kind": LessonKind.HABIT})
    assert asked(habit) == []


async def test_what_is_the_same_for_all_lessons_comes_first() -> None:
    one, other = ScriptedProvider("{}"), ScriptedProvider("{}")
    await ProceduralMemoryProposer(CONFIG, one).propose(lacking())
    await ProceduralMemoryProposer(CONFIG, other).propose(correction())
    assert one.asked[0][0][:-1] == other.asked[0][0][:-1]
    assert one.asked[0][0][-1] != other.asked[0][0][-1]


def test_of_long_evidence_the_beginning_is_shown() -> None:
    (seen,) = (lesson := lacking()).evidence
    long = seen.model_copy(update={"error": "fatal: no upstream " + "x" * 5_000})
    shown = lesson_request(lesson.model_copy(update={"evidence": (long,)})).evidence["error"]
    assert shown.startswith("fatal: no upstream")
    assert len(shown) < 400


def test_what_a_person_said_is_put_in_no_other_words() -> None:
    said = correction()
    quoted = said.grounded.model_copy(update={"discovery": "“no, never push to main”"})
    assert asked(said.model_copy(update={"proposal": quoted, "grounded": quoted})) == ["when"]


@rows(
    ("name", "code", "model", "better"),
    [
        ("name", "", "git-push", True),
        ("name", "git-push-x", "git-push", False),
        ("name", "leave-out-what-the-error-names", "git-add-ignored", True),
        ("title", "Run " + "x" * 67, "Run it", True),
        ("title", "Run " + "x" * 66, "Run it", False),
        ("title", "`x` fails", "Run it", True),
        ("title", "Run `x` before `y z`", "Run `x` first", False),
        ("when", "`x` fails with " + "y" * 146, "`x` fails", True),
        ("when", "`x` fails with " + "y" * 145, "`x` fails", False),
        ("when", "`x` fails with " + "y" * 146, "`x` fails with " + "z" * 146, False),
        ("when", "working in x on anything to do with: a, b.", "writing tests", True),
        ("why", "`a` failed; `b` worked.", "It has no branch, so it needs one.", True),
        ("why", "After it the error was gone.", "It needs a branch.", True),
        ("why", "The error itself asks for that line.", "It needs a branch.", True),
        ("why", "`a` failed in another directory.", "It needs the one of `b`.", False),
        ("why", "A hook wants it. The error itself asks for that line.", "It is there.", False),
        ("why", "A branch has no upstream until then.", "It needs a branch.", False),
        ("why", "Git can't stage through a link.", "It needs the real path.", False),
        ("why", "`a` failed; `b` worked.", "`a` failed before `b` worked.", False),
        ("check", "", "Look at it.", True),
        ("check", "Run it.", "Look at it.", False),
    ],
)
def test_the_models_text_is_chosen_only_where_code_is_wanting(
    name: str, code: str, model: str, better: bool
) -> None:
    assert is_better(name, model, code) is better
