"""What answers come to: figures, gains, words, and what is advised."""

from synthorg_tui.memory.evaluation.advice import PATIENCE_MS, Machine, advice_for
from synthorg_tui.memory.evaluation.questions import RecallTask
from synthorg_tui.memory.evaluation.report import (
    FEW_QUESTIONS,
    AskedQuestion,
    ComparisonReport,
    EmbedderFigures,
    QuestionSet,
    SetFigures,
    gain_of,
    task_figures,
)
from synthorg_tui.memory.evaluation.wording import (
    found_rows,
    gain_words,
    problems,
    set_words,
    taken_rows,
)

HERE = Machine(2, 8 * 1024**3, False)


def answer(*fused: str, task: RecallTask = RecallTask.EPISODIC) -> AskedQuestion:
    return AskedQuestion(frozenset({"a"}), task, ("a",), fused, 0.01)


def figures(
    *fused: str, p95_ms: float = 20.0, base: list[AskedQuestion] | None = None
) -> SetFigures:
    answers = [answer(*fused)] * FEW_QUESTIONS
    return SetFigures(
        name="own",
        tasks=task_figures(answers),
        p50_ms=10.0,
        p95_ms=p95_ms,
        answered=1.0,
        rejected=0.95,
        gain=gain_of(answers, base) if base is not None else None,
    )


def embedder(name: str, found: SetFigures, *, active: bool = False) -> EmbedderFigures:
    return EmbedderFigures(name=name, is_active=active, texts_per_second=10.0, sets=(found,))


def own(questions: int = FEW_QUESTIONS) -> QuestionSet:
    return QuestionSet(
        name="own",
        memories=10,
        memories_total=20,
        questions=questions,
        questions_found=questions,
        gone=0,
        by_source={"failure": questions},
        by_task={"episodic": questions},
    )


BASE = [answer("x", "a")] * FEW_QUESTIONS
ACTIVE = embedder("old", figures("x", "a"), active=True)


def test_figures_are_of_all_questions_and_then_of_each_kind_there_is() -> None:
    made = task_figures([answer("a"), answer("x", "a", task=RecallTask.DIALOGUE)])
    assert [(each.task, each.questions) for each in made] == [
        (None, 2),
        (RecallTask.EPISODIC, 1),
        (RecallTask.DIALOGUE, 1),
    ]
    assert made[0].fused.mrr.mean == 0.75
    assert made[0].dense.mrr.mean == 1.0


def test_a_gain_is_of_what_agents_are_given() -> None:
    gain = gain_of([answer("a")] * 3, [answer("x", "a")] * 3)
    assert gain.mrr == (0.5, 0.5, 0.5)
    assert gain.recall_10.mean == 0.0


def test_a_better_one_is_advised_with_its_gain() -> None:
    better = embedder("new", figures("a", base=BASE))
    tier, said = advice_for([own()], [ACTIVE, better], HERE)
    assert "a processor alone" in tier
    assert "choose new" in said
    assert "+0.369" in said


def with_reranker(name: str, found: SetFigures, *, active: bool = False) -> EmbedderFigures:
    return embedder(f"{name} + onnx x", found, active=active).model_copy(
        update={"reranker": "onnx x", "pairs_per_second": 90.0}
    )


def test_a_reranker_is_advised_only_if_it_surely_gains() -> None:
    better = with_reranker("old", figures("a", base=BASE))
    assert "choose old + onnx x" in advice_for([own()], [ACTIVE, better], HERE)[1]
    same = with_reranker("old", figures("x", "a", base=BASE))
    said = advice_for([own()], [ACTIVE, same], HERE)[1]
    assert "keep old, and leave the re-ranker out" in said
    assert taken_rows(ComparisonReport(sets=(own(),), embedders=(same,)))[0][3] == (
        "10 (90 reordered)"
    )


def test_one_that_is_on_stays_only_if_less_is_found_without_it() -> None:
    active = with_reranker("old", figures("a"), active=True)
    worse = embedder("old", figures("x", "a", base=[answer("a")] * FEW_QUESTIONS))
    assert "less is found" in advice_for([own()], [active, worse], HERE)[1]
    same = embedder("old", figures("a", base=[answer("a")] * FEW_QUESTIONS))
    assert "switch the re-ranker off" in advice_for([own()], [active, same], HERE)[1]


def test_what_agents_would_wait_for_too_long_is_no_choice() -> None:
    at_most = embedder("new", figures("a", base=BASE, p95_ms=PATIENCE_MS))
    slower = embedder("new", figures("a", base=BASE, p95_ms=PATIENCE_MS + 1))
    assert "choose new" in advice_for([own()], [ACTIVE, at_most], HERE)[1]
    said = advice_for([own()], [ACTIVE, slower], HERE)[1]
    assert "keep old: new is better by +0.369, but takes over 501 ms" in said


def test_noise_is_no_reason_to_change() -> None:
    same = embedder("new", figures("x", "a", base=BASE))
    assert "keep old" in advice_for([own()], [ACTIVE, same], HERE)[1]
    assert "noise" in gain_words(same.sets[0])


def test_nothing_is_chosen_by_too_few_questions() -> None:
    better = embedder("new", figures("a", base=BASE))
    assert "choose" in advice_for([own(FEW_QUESTIONS)], [ACTIVE, better], HERE)[1]
    said = advice_for([own(FEW_QUESTIONS - 1)], [ACTIVE, better], HERE)[1]
    assert "too few" in said


def test_tables_have_a_row_for_each_and_say_what_does_not_work() -> None:
    broken = EmbedderFigures(name="broken", is_active=False, problem="it is no model")
    report = ComparisonReport(sets=(own(),), embedders=(ACTIVE, broken))
    (row,) = found_rows(report, "own")
    assert row.cells[0] == "old (active)"
    assert row.cells[1] == "1.00 ±.000"
    assert taken_rows(report)[1][1] == "doesn't work"
    assert problems(report) == ["broken: it is no model"]
    assert set_words(own()) == (
        "30 questions among 10 of 20 memories: 30 from failures and what helped"
    )
