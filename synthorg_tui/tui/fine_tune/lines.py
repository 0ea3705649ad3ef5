"""The Fine-tune screen as lines: what is in force, checkpoints, runs, and one of them in full.

Pure functions of what the service tells. A picture never stands alone: first and last value are
beside it, and better or worse is a word before it is a colour.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.text import counted
from synthorg_tui.figures.drawing import columns
from synthorg_tui.memory.fine_tune.models import (
    MIN_PAIRS,
    WORK_STAGES,
    CheckpointRecord,
    EvalMetrics,
    FineTuneRun,
    FineTuneStage,
    FineTuneStatus,
    FineTuneTrainer,
    PreflightCheck,
    PreflightResult,
)
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, duration, moment, size
from synthorg_tui.tui.base.lines import (
    Line,
    bar,
    beside,
    fact,
    keys_line,
    line,
    one_line,
    text_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from synthorg_tui.memory.fine_tune.models import ActiveEmbedderSnapshot, CurvePoint
    from synthorg_tui.tui.fine_tune.adapter import TuningView

ACTIVE: Final = ("active", "")
"""The value of the row of what is in force."""
_LABEL: Final = 12
_fact = partial(fact, cells=_LABEL)
_ID: Final = 8
_PICTURE: Final = 40
_HEIGHT: Final = 2
_CHECKS: Final = {"fail": ("✗", "bad"), "warn": ("!", "warn"), "pass": ("✓", "good")}
"""Glyph and role of how a check came out, the worst first."""
_CHECK_NAMES: Final = {
    "source_dir_exists": "memories",
    "output_dir_writable": "output",
    "override_bounds": "values",
    "base_model": "embedder",
    "embedded": "embedded",
    "pairs": "questions",
}
STAGES: Final = {
    FineTuneStage.IDLE: "nothing to do",
    FineTuneStage.GENERATING_DATA: "gathering questions",
    FineTuneStage.MINING_NEGATIVES: "finding near misses",
    FineTuneStage.TRAINING: "training",
    FineTuneStage.EVALUATING: "evaluating",
    FineTuneStage.DEPLOYING: "keeping the result",
    FineTuneStage.COMPLETE: "complete",
    FineTuneStage.FAILED: "broke off",
}
"""What each stage is called on the screen."""


TRAINERS: Final = {
    FineTuneTrainer.ADAPTER: "a map of questions, in seconds",
    FineTuneTrainer.CONTRASTIVE: "all weights for questions, in minutes",
}
"""What each trainer is called on the screen."""


def short(identity: str) -> str:
    """Return the beginning of an id, by which people tell runs and checkpoints apart."""
    return one_line(identity)[:_ID]


def rows(view: TuningView, width: int, now: datetime) -> list[tuple[object, Line]]:
    """Return the rows of the list with what each stands for; headings stand for nothing."""
    kept, runs = view.checkpoints, view.runs
    kept_head = _heading("Checkpoints", len(kept), view.checkpoint_count)
    return [
        (None, line(("In force", "title"))),
        (ACTIVE, active_line(view.active)),
        *([(None, kept_head)] if kept else []),
        *((("checkpoint", each.id), checkpoint_line(each, width, now)) for each in kept),
        *([(None, _heading("Runs", len(runs), view.run_count))] if runs else []),
        *((("run", each.id), run_line(each, width, now)) for each in runs),
    ]


def _heading(title: str, shown: int, count: int) -> Line:
    more = f"  the newest {shown:,} of {count:,}" if count > shown else ""
    return line((title, "title"), (more, "muted"))


def active_line(active: ActiveEmbedderSnapshot) -> Line:
    """The embedder in force, and the checkpoint on top of it."""
    glyph, role = ("!", "warn") if active.problem else ("●", "good")
    shown = line((f" {glyph} ", role), (one_line(active.model).partition(":")[0], "strong"))
    told = f" + {short(active.checkpoint_id)}" if active.checkpoint_id else " as it is"
    return shown.add(told, "accent" if active.checkpoint_id else "muted")


def standing(checkpoint: CheckpointRecord) -> tuple[str, str, str]:
    """Return glyph, words and role of how a checkpoint stands."""
    if checkpoint.is_active:
        return "●", "in force", "good"
    metrics = checkpoint.eval_metrics
    if metrics is not None and metrics.is_surely_better:
        return "○", "better", "accent"
    return "✗", "not better", "warn"


def checkpoint_line(checkpoint: CheckpointRecord, width: int, now: datetime) -> Line:
    """A checkpoint: how it stands, its gain, and its age."""
    glyph, words, role = standing(checkpoint)
    shown = line((f" {glyph} ", role), (short(checkpoint.id), "text"), (f" {words}", role))
    metrics = checkpoint.eval_metrics
    gain = f"{metrics.ndcg_at_10 - metrics.base_ndcg_at_10:+.3f} " if metrics else ""
    return beside(shown, line((gain, role), (_age(checkpoint.created_at, now), "muted")), width)


def run_mark(run: FineTuneRun) -> tuple[str, str]:
    """Return glyph and role of how a run stands."""
    if run.stage is FineTuneStage.COMPLETE:
        return "✓", "good"
    return ("⊘", "warn") if run.stage is FineTuneStage.FAILED else ("▸", "accent")


def run_line(run: FineTuneRun, width: int, now: datetime) -> Line:
    """A run: how far it is, and its age."""
    glyph, role = run_mark(run)
    shown = line((f" {glyph} ", role), (short(run.id), "text"), (f" {STAGES[run.stage]}", role))
    far = f"{run.progress:.0%} " if run.stage.is_active and run.progress is not None else ""
    return beside(shown, line((far, role), (_age(run.started_at, now), "muted")), width)


def _age(then: datetime, now: datetime) -> str:
    age = ago(then, now)
    return f"{'now' if age == 'now' else f'{age} ago':>7} "


def work_line(status: FineTuneStatus, width: int) -> Line:
    """What is at work, for the line over the keys."""
    room = max(min(width // 4, 24), 6)
    shown = line((f" {STAGES[status.stage]} ", "accent"))
    if status.progress is not None:
        shown.extend(bar(status.progress, room)).add(f" {status.progress:.0%}", "accent")
    return shown.add(f"  {one_line(status.detail)}" if status.detail else "", "muted")


def active_lines(active: ActiveEmbedderSnapshot, result: PreflightResult | None) -> list[Line]:
    """What is in force in full, and what a run would need."""
    dims = f", {active.dims:,} dimensions" if active.dims else ""
    shown = [
        line(("What answers searches", "title")),
        _fact("model", one_line(f"{active.model} ({active.provider}{dims})")),
        _fact("checkpoint", one_line(active.checkpoint_id or "none")),
    ]
    if active.problem:
        shown.append(line(("! ", "warn"), (one_line(active.problem), "warn")))
    return [*shown, Line(), *needs_lines(result)]


def needs_lines(result: PreflightResult | None) -> list[Line]:
    """What was looked at before a run, what fails first, and how to get to enough questions."""
    title = line(("What a run needs", "title"))
    if result is None:
        return [title, line(("Looking …", "muted"))]
    checks = sorted(result.checks, key=lambda each: list(_CHECKS).index(each.status))
    trains = keys_line((key_of("tuning.run"), "trains; nothing changes by that"))
    return [
        title,
        *(row for check in checks for row in _check_lines(check)),
        *([Line(), trains] if result.can_proceed else []),
    ]


def _check_lines(check: PreflightCheck) -> list[Line]:
    """How a check came out; too few questions with what makes more of them."""
    glyph, role = _CHECKS[check.status]
    name = _CHECK_NAMES.get(check.name, one_line(check.name))
    row = line(
        (f"{glyph} ", role), (f"{name:<10} ", "muted"), (one_line(check.message), "text"), hang=13
    )
    found = check.detail.get("found")
    is_short = check.name == "pairs" and check.status == "fail"
    return [row, *(_ways_to_pairs(found) if is_short and isinstance(found, int) else [])]


def _ways_to_pairs(found: int) -> list[Line]:
    """How far there are too few questions, and what makes more of them."""
    far = bar(found / MIN_PAIRS, 24, "warn").add(f" {found:,} of {MIN_PAIRS:,}", "warn")
    ways = (
        (key_of("app.import_path"), "imports sessions: each failure that was put right asks one"),
        (key_of("app.connect"), "connects an agent: a search of which it opens a hit is one"),
        (key_of("app.approvals"), "has what waits: what a person approved answers one"),
        (key_of("app.scenarios"), "saves scenarios: what is pinned there answers them"),
    )
    return [far, line(("What makes more of them", "title")), *map(_way, ways), Line()]


def _way(pair: tuple[str, str]) -> Line:
    return line((f"{pair[0]:<4}", "accent"), (pair[1], "text"), hang=4)


def run_lines(run: FineTuneRun, now: datetime) -> list[Line]:
    """A run in full: its stages, the lines of training, and what was measured."""
    glyph, role = run_mark(run)
    told = (
        f"begun {moment(run.started_at, now)}",
        f"took {duration(run.duration_seconds)}" if run.duration_seconds is not None else "",
        counted(run.pairs, "question") if run.pairs else "",
        "all weights" if run.request.trainer is FineTuneTrainer.CONTRASTIVE else "",
    )
    broke = [
        line(("! ", "warn"), (one_line(run.error or ""), "warn")),
        keys_line((key_of("tuning.run"), "goes on where it broke off")),
    ]
    return [
        line((f"{glyph} {STAGES[run.stage]}", role), (f"  {one_line(run.id)}", "faint")),
        line((" · ".join(filter(None, told)), "muted")),
        *(broke if run.error else []),
        *([line((one_line(run.note), "text"))] if run.note else []),
        Line(),
        *stage_lines(run),
        *([Line(), *curve_lines(run.curve)] if run.curve else []),
        *([Line(), *metric_lines(run.metrics)] if run.metrics is not None else []),
    ]


def run_choices(
    run: FineTuneRun | None, trainers: Sequence[FineTuneTrainer]
) -> list[tuple[object, Line]]:
    """What can be begun: the run under the cursor if it broke off, or a new one by each trainer."""
    broke = [run] if run is not None and run.stage is FineTuneStage.FAILED else []
    return [
        *(
            (each.id, line((f"go on with {short(each.id)}, which broke off", "text")))
            for each in broke
        ),
        *(
            (
                each,
                line(
                    (f"a new run: {TRAINERS[each]}" if len(trainers) > 1 else "a new run", "text")
                ),
            )
            for each in trainers
        ),
    ]


def stage_lines(run: FineTuneRun) -> list[Line]:
    """The stages of a run in order, with how far the present one is."""
    return [_stage_line(run, stage) for stage in WORK_STAGES]


def _stage_line(run: FineTuneRun, stage: FineTuneStage) -> Line:
    if stage in run.stages_completed or run.stage is FineTuneStage.COMPLETE:
        return line(("✓ ", "good"), (STAGES[stage], "text"))
    if stage is not run.stage:
        return line(("· ", "faint"), (STAGES[stage], "faint"))
    row = line(("▸ ", "accent"), (f"{STAGES[stage]:<20}", "strong"))
    if run.progress is not None:
        row.extend(bar(run.progress, 20)).add(f" {run.progress:.0%}", "accent")
    return row


def curve_lines(curve: Sequence[CurvePoint]) -> list[Line]:
    """Loss and metric of training as columns, each with its first, best and last value."""
    best = max(curve, key=lambda point: point.metric)
    return [
        *_picture("loss", [point.loss for point in curve], "cat-episodic", min),
        *_picture("metric", [point.metric for point in curve], "good", max),
        line((f"best after step {best.step:,}; training stops by itself", "muted")),
    ]


def _picture(
    name: str, values: Sequence[float], role: str, best: Callable[[Sequence[float]], float]
) -> list[Line]:
    told = f"{values[0]:.3f} → {values[-1]:.3f}, best {best(values):.3f}"
    title = line((f"{name:<8}", "title"), (told, "text"))
    return [title, *(line((row, role)) for row in drawn(values))]


def drawn(values: Sequence[float], width: int = _PICTURE) -> tuple[str, ...]:
    """Draw values as columns between the least and the highest; of many, one stands for several."""
    step = max(-(-len(values) // width), 1)
    groups = [values[at : at + step] for at in range(0, len(values), step)]
    means = [sum(group) / len(group) for group in groups]
    low, high = min(means), max(means)
    spread = (high - low) or 1.0
    return columns([1 + round((mean - low) / spread * 15) for mean in means], len(means), _HEIGHT)


def checkpoint_lines(checkpoint: CheckpointRecord, now: datetime) -> list[Line]:
    """A checkpoint in full: how it stands, what was measured, what it is made of."""
    glyph, words, role = standing(checkpoint)
    metrics = checkpoint.eval_metrics
    gone = counted(checkpoint.erased_since, "memory", "memories")
    told = f"{gone} it was trained on were erased since; another run leaves them out"
    return [
        line((f"{glyph} {words}", role), (f"  {one_line(checkpoint.id)}", "faint")),
        *([*metric_lines(metrics), Line()] if metrics is not None else []),
        _fact("made", moment(checkpoint.created_at, now)),
        _fact("run", one_line(checkpoint.run_id)),
        _fact("trained on", counted(checkpoint.doc_count, "memory", "memories")),
        _fact("for", one_line(checkpoint.base_model)),
        _fact("size", size(checkpoint.size_bytes)),
        *([line(("! ", "warn"), (told, "warn"), hang=2)] if checkpoint.erased_since else []),
        Line(),
        _offer(checkpoint),
    ]


def _offer(checkpoint: CheckpointRecord) -> Line:
    if checkpoint.is_active:
        return keys_line((key_of("tuning.restore"), "takes it back"))
    if checkpoint.eval_metrics is not None and checkpoint.eval_metrics.is_surely_better:
        return keys_line((key_of("tuning.approve"), "has searches use it"))
    return line(("It can't be deployed: the gain isn't more than chance.", "warn"))


def metric_lines(metrics: EvalMetrics) -> list[Line]:
    """Before and after, with the interval of the gain, and what it comes to in words."""
    pairs = (
        ("NDCG@10", metrics.base_ndcg_at_10, metrics.ndcg_at_10),
        ("recall@10", metrics.base_recall_at_10, metrics.recall_at_10),
        ("by meaning", metrics.base_dense_ndcg_at_10, metrics.dense_ndcg_at_10),
    )
    told = f"on {metrics.questions:,} questions of sessions it never saw"
    shown = [
        line((f"{'':{_LABEL}}{'before':>8}{'after':>8}{'':4}{'gain':>7}", "muted")),
        *(_compared(*pair) for pair in pairs),
        line((told, "muted")),
        line(
            ("95 % interval of the gain ", "text"),
            (f"{metrics.gain_low:+.3f} to {metrics.gain_high:+.3f}", "strong"),
        ),
    ]
    if metrics.is_surely_better:
        return [*shown, line(("✓ better: ", "good"), ("the gain is more than chance", "text"))]
    why = "recall is lost for it" if metrics.gain_low > 0 else "the gain may be chance"
    return [*shown, line(("✗ not surely better: ", "warn"), (why, "text"))]


def _compared(name: str, before: float, after: float) -> Line:
    gain = after - before
    glyph, role = ("▲", "good") if gain > 0 else ("▼", "bad") if gain < 0 else ("=", "muted")
    shown = line((f"{name:<{_LABEL}}", "text"), (f"{before:>8.3f}{after:>8.3f}", "strong"))
    return shown.add(f"  {glyph} ", role).add(f"{gain:>+7.3f}", role)


def refused_lines(error: str, remedy: str) -> list[Line]:
    """Why a run can't begin."""
    shown = [line(("✗ ", "bad"), ("It can't begin", "strong")), Line(), *text_lines(error)]
    return [*shown, *([line(("→ ", "accent"), (remedy, "text"))] if remedy else [])]
