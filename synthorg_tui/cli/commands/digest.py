"""``digest`` and ``scenarios``."""

from typing import TYPE_CHECKING

from pydantic import ValidationError

from synthorg_tui.cli.commands.memories import find_one
from synthorg_tui.cli.console import Console, cut, plural
from synthorg_tui.cli.context import AnyEngine, Context, UsageError
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation
from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome

if TYPE_CHECKING:
    from synthorg_tui.memory.strategies.service import Injection

_DIGITS = 6
CHANGED = 1
"""Exit code of ``scenarios run`` when an agent would get something else."""


async def run_digest(context: Context) -> int:
    """Print exactly what an agent would be given, and why when asked to."""
    async with context.engine() as engine:
        question = await _question(context, engine)
        memory = engine.settings.memory
        request = question.request(memory.retrieval, memory.v1)
        give = engine.injection.prepare if context.args.preview else engine.injection.serve
        injection = await give(request)
        known = {agent.id for agent in await engine.agents()}
    explanation = injection.explanation
    if explanation.degraded:
        context.console.warning(explanation.degraded)
    if not injection.text:
        context.console.note(_why_nothing(injection, known))
    if context.wants_json:
        context.console.json(_digest(injection))
        return 0
    _write(context.console, injection.text)
    if context.args.explain:
        if injection.text:
            context.console.line()
        _explain(context.console, explanation)
    return 0


async def run_list(context: Context) -> int:
    """List the scenarios."""
    async with context.engine() as engine:
        saved = await engine.scenarios.list()
    if context.wants_json:
        context.console.json({"scenarios": [_scenario(each) for each in saved]})
        return 0
    if not saved:
        context.console.line("No scenarios yet; `synthorg-tui scenarios save` keeps one.")
        return 0
    rows = [
        (each.name, each.question.agent_id, str(each.question.token_budget), each.question.query)
        for each in saved
    ]
    context.console.table(("NAME", "AGENT", "BUDGET", "QUERY"), rows)
    return 0


async def run_save(context: Context) -> int:
    """Keep a question with what it includes now."""
    async with context.engine() as engine:
        question = await _question(context, engine)
        saved = await engine.scenarios.save(context.args.name, question)
    if context.wants_json:
        context.console.json(_scenario(saved))
    else:
        expected = plural(len(saved.expected), "memory", "memories")
        context.console.line(f"Saved {saved.name}: {expected} expected.")
    return 0


async def run_delete(context: Context) -> int:
    """Forget a scenario."""
    async with context.engine() as engine:
        deleted = await engine.scenarios.delete(context.args.name)
    if not deleted:
        raise UsageError(
            f"there is no scenario {context.args.name!r}",
            remedy="`synthorg-tui scenarios list` shows them.",
        )
    if context.wants_json:
        context.console.json({"deleted": 1})
    else:
        context.console.line(f"Deleted {context.args.name}.")
    return 0


async def run_scenarios(context: Context) -> int:
    """Ask the scenarios again; 1 when something changed."""
    async with context.engine() as engine:
        outcomes = await engine.scenarios.run(context.args.names)
    changed = sum(outcome.is_changed for outcome in outcomes)
    if context.wants_json:
        context.console.json(
            {"changed": changed, "scenarios": [_outcome(outcome) for outcome in outcomes]}
        )
    else:
        for outcome in outcomes:
            _show_outcome(context.console, outcome)
        context.console.line(f"{changed} of {plural(len(outcomes), 'scenario')} changed", "dim")
    return CHANGED if changed else 0


async def _question(context: Context, engine: AnyEngine) -> Question:
    args = context.args
    overrides = dict(args.set)
    if args.strategy is not None:
        overrides["strategy"] = args.strategy
    pinned = [(await find_one(engine.desk, start)).id for start in args.pin]
    excluded = [(await find_one(engine.desk, start)).id for start in args.exclude]
    try:
        return Question(
            agent_id=args.agent,
            query=" ".join(args.query).strip(),
            token_budget=args.token_budget,
            overrides=overrides,
            pinned=tuple(pinned),
            excluded=tuple(excluded),
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(f"{field}: {first['msg'].removeprefix('Value error, ')}") from error


def _write(console: Console, text: str) -> None:
    """The text byte for byte; made safe only where it would act, on a terminal."""
    if console.out.isatty():
        console.line(safe_text(text, multiline=True))
        return
    console.out.flush()
    buffer = getattr(console.out, "buffer", None)
    if buffer is None:
        console.out.write(text)
    else:
        buffer.write(text.encode("utf-8", "replace"))
        buffer.flush()


def _explain(console: Console, explanation: Explanation) -> None:
    used, budget = explanation.tokens_used, explanation.token_budget
    included, left_out = len(explanation.included), len(explanation.left_out)
    console.line(
        f"{used:,} of {budget:,} tokens · {included} in, {left_out} out · {explanation.strategy}",
        "bold",
    )
    header = ("", "VERDICT", "SCORE", "DENSE", "SPARSE", "RECENT", "TOKENS", "ID", "WHY · MEMORY")
    console.table(header, [_row(each) for each in explanation.candidates])
    took = "  ".join(f"{stage.name} {stage.milliseconds:.1f} ms" for stage in explanation.stages)
    if took:
        console.line(took, "dim")


def _row(each: Candidate) -> tuple[str, ...]:
    return (
        "+" if each.verdict.is_in else "-",
        each.verdict.value.replace("_", " "),
        f"{each.combined:.2f}",
        "–" if each.dense is None else f"{each.dense:.2f}",
        "–" if each.sparse is None else f"{each.sparse:.2f}",
        f"{each.recency:.2f}",
        str(each.tokens),
        each.entry.id[:8],
        f"{each.reason} · {each.entry.content}",
    )


def _why_nothing(injection: "Injection", known: set[str]) -> str:
    explanation = injection.explanation
    if injection.tools:
        names = ", ".join(tool.name for tool in injection.tools)
        return f"no memory is injected; the agent gets tools: {names}"
    if explanation.agent_id not in known:
        return f"no agent {explanation.agent_id!r} has memories; `synthorg-tui agents` lists them"
    return "the agent would be given no memory; --explain shows why"


def _digest(injection: "Injection") -> Json:
    explanation = injection.explanation
    return {
        "agent_id": explanation.agent_id,
        "query": explanation.query,
        "strategy": explanation.strategy,
        "token_budget": explanation.token_budget,
        "tokens_used": explanation.tokens_used,
        "degraded": explanation.degraded,
        "text": injection.text,
        "tools": [tool.name for tool in injection.tools],
        "included": [each.entry.id for each in explanation.included],
        "candidates": [_candidate(each) for each in explanation.candidates],
        "stages": [
            {"name": stage.name, "milliseconds": round(stage.milliseconds, 3)}
            for stage in explanation.stages
        ],
    }


def _candidate(each: Candidate) -> Json:
    return {
        "id": each.entry.id,
        "verdict": each.verdict.value,
        "reason": each.reason,
        "is_shared": each.is_shared,
        "dense": _rounded(each.dense),
        "sparse": _rounded(each.sparse),
        "relevance": _rounded(each.relevance),
        "recency": _rounded(each.recency),
        "boost": _rounded(each.boost),
        "combined": _rounded(each.combined),
        "rank": each.rank,
        "similarity": _rounded(each.similarity),
        "similar_to": each.similar_to,
        "tokens": each.tokens,
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _DIGITS)


def _scenario(each: Scenario) -> Json:
    question = each.question
    return {
        "name": each.name,
        "agent_id": question.agent_id,
        "query": question.query,
        "token_budget": question.token_budget,
        "overrides": dict(question.overrides),
        "pinned": list(question.pinned),
        "excluded": list(question.excluded),
        "expected": list(each.expected),
    }


def _outcome(outcome: ScenarioOutcome) -> Json:
    return {
        "name": outcome.scenario.name,
        "changed": outcome.is_changed,
        "included": list(outcome.included),
        "added": list(outcome.added),
        "removed": list(outcome.removed),
        "reordered": outcome.is_reordered,
        "error": outcome.error,
    }


def _show_outcome(console: Console, outcome: ScenarioOutcome) -> None:
    if outcome.error:
        mark, said = ("FAIL   ", "red"), outcome.error
    elif outcome.is_changed:
        mark, said = ("changed", "yellow"), "in another order" if outcome.is_reordered else ""
    else:
        mark, said = ("same   ", "green"), ""
    console.parts([mark, (outcome.scenario.name, "bold"), (said,)])
    for sign, ids, style in (("-", outcome.removed, "red"), ("+", outcome.added, "green")):
        for memory_id in ids:
            told = cut(outcome.about(memory_id), max(console.width - 16, 40))
            console.line(f"    {sign} {memory_id[:8]}  {told}", style)
