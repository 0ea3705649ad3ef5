"""``digest`` and ``scenarios``: shows an agent's digest, and tests whether saved ones changed."""

import argparse
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.memories_reading import find_one
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Console, cut
from synthorg_tui.cli.shapes import Json, rounded
from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.redaction import replaced_in
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import InjectionStrategy

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome
    from synthorg_tui.memory.strategies.service import Injection

CHANGED: Final = 1
"""Exit code of ``scenarios run`` when an agent would get something else."""
_MAX_TOKENS: Final = 1_000_000


def add(commands: Subparsers) -> None:
    """Add the parsers of ``digest`` and ``scenarios`` to ``commands``."""
    parser = add_command(
        commands,
        "digest",
        run_digest,
        COMMANDS["digest"].summary,
        more="Nothing else is printed,\nso the output can be used as it is.",
        examples=(
            'digest "push a branch that has no upstream" --agent claude-code --token-budget 800',
            "digest flaky test --agent codex --token-budget 2000 --explain",
            "digest flaky test --agent codex --token-budget 500 --set min_relevance=0.2 --json",
        ),
    )
    _add_question(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show every candidate and why it is in or out, too"
    )
    parser.add_argument(
        "--preview", action="store_true", help="only look: don't count it for the skills in it"
    )
    _add_scenarios(commands)


def _add_scenarios(commands: Subparsers) -> None:
    actions = add_group(
        commands,
        "scenarios",
        COMMANDS["scenarios"].summary,
        "Keep questions with what they include, and ask them again after a change.",
    )
    add_command(actions, "list", run_list, "list the scenarios")
    parser = add_command(
        actions,
        "save",
        run_save,
        "keep a question with what it includes now",
        more="One of the same name is replaced.",
        examples=("scenarios save push git push --agent claude-code --token-budget 800",),
    )
    parser.add_argument("name", metavar="NAME", help="what to call it")
    _add_question(parser)
    parser = add_command(actions, "delete", run_delete, "forget a scenario")
    parser.add_argument("name", metavar="NAME")
    parser = add_command(
        actions,
        "run",
        run_scenarios,
        "ask the scenarios again",
        more="Exits with 1 when an agent would get something else.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")


def _add_question(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what the agent is about to do")
    parser.add_argument("--agent", required=True, metavar="ID", help="which agent asks")
    parser.add_argument(
        "--token-budget",
        required=True,
        metavar="N",
        type=_tokens,
        help="most tokens that memories may take",
    )
    strategies = [strategy.value for strategy in InjectionStrategy]
    parser.add_argument(
        "--strategy",
        choices=strategies,
        metavar="NAME",
        help=f"{', '.join(strategies)} (default: settings)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="another value for a setting of memory.retrieval (repeatable)",
    )
    parser.add_argument(
        "--pin", action="append", default=[], metavar="ID", help="give this memory in any case"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="ID", help="don't give this memory"
    )


def _tokens(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_TOKENS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 0 to {_MAX_TOKENS:,}"
        )
    return int(text)


def _setting(text: str) -> tuple[str, object]:
    import json

    name, separator, value = text.partition("=")
    if not separator or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value.strip()
    if isinstance(parsed, (dict, list)) or parsed is None:
        raise argparse.ArgumentTypeError(f"{name.strip()} takes a word, a number, true or false")
    return name.strip(), parsed


async def run_digest(context: "Context") -> int:
    """Print the digest exactly as an agent would get it; with ``--explain`` also the reasons."""
    from dataclasses import replace

    from synthorg_tui.memory.retrieval.explanation import with_authors

    async with context.engine() as engine:
        question = await _question(context, engine)
        memory = engine.settings.memory
        request = question.request(memory.retrieval, memory.v1)
        give = engine.injection.prepare if context.args.preview else engine.injection.serve
        injection = await give(request)
        known = {agent.id for agent in await engine.agents()}
        ids = [candidate.entry.id for candidate in injection.explanation.candidates]
        authors = await engine.desk.authors(ids)
    explanation = with_authors(injection.explanation, authors)
    injection = replace(injection, explanation=explanation)
    if explanation.degraded:
        context.console.warning(explanation.degraded)
    if not injection.text:
        context.console.note(_why_nothing(injection, known))
    if context.wants_json:
        context.console.json(_digest(injection))
        return 0
    context.console.exact(injection.text)
    if context.args.explain:
        if injection.text:
            context.console.line()
        _explain(context.console, explanation)
    return 0


async def run_list(context: "Context") -> int:
    """List the saved scenarios."""
    async with context.engine() as engine:
        saved = await engine.scenarios.list()
    if context.wants_json:
        context.console.json({"scenarios": [_scenario(scenario) for scenario in saved]})
        return 0
    if not saved:
        context.console.line("No scenarios yet; `synthorg-tui scenarios save` keeps one.")
        return 0
    questions = [(scenario.name, scenario.question) for scenario in saved]
    rows = [(name, it.agent_id, str(it.token_budget), it.query) for name, it in questions]
    context.console.table(("NAME", "AGENT", "BUDGET", "QUERY"), rows)
    return 0


async def run_save(context: "Context") -> int:
    """Save a question as a scenario, with the memories that its digest includes now.

    Like deleting one, refused where an agent runs it: scenarios are a person's own tests.
    """
    from synthorg_tui.approvals.person import require_no_agent

    require_no_agent()
    async with context.engine() as engine:
        question = await _question(context, engine)
        saved = await engine.scenarios.save(context.args.name, question)
    if told := replaced_in(question.query, saved.question.query):
        context.console.note(told)
    expected = counted(len(saved.expected), "memory", "memories")
    return context.print_result(_scenario(saved), f"Saved {saved.name}: {expected} expected.")


async def run_delete(context: "Context") -> int:
    """Delete a saved scenario."""
    from synthorg_tui.approvals.person import require_no_agent

    require_no_agent()
    async with context.engine() as engine:
        deleted = await engine.scenarios.delete(context.args.name)
    if not deleted:
        raise UsageError(
            f"there is no scenario {context.args.name!r}",
            remedy="`synthorg-tui scenarios list` shows them.",
        )
    return context.print_result({"deleted": 1}, f"Deleted {context.args.name}.")


async def run_scenarios(context: "Context") -> int:
    """Run the saved scenarios again; return 1 when a digest changed, else 0."""
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
        context.console.line(f"{changed} of {counted(len(outcomes), 'scenario')} changed", "dim")
    return CHANGED if changed else 0


async def _question(context: "Context", engine: "AnyEngine") -> "Question":
    from pydantic import ValidationError

    from synthorg_tui.memory.scenarios import Question

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


def _explain(console: Console, explanation: "Explanation") -> None:
    used, budget = explanation.tokens_used, explanation.token_budget
    included, left_out = len(explanation.included), len(explanation.left_out)
    console.line(
        f"{used:,} of {budget:,} tokens · {included} in, {left_out} out · {explanation.strategy}",
        "bold",
    )
    header = (
        "",
        "VERDICT",
        "SCORE",
        "DENSE",
        "SPARSE",
        "RECENT",
        "TOKENS",
        "ID",
        "WHY · BY · MEMORY",
    )
    console.table(header, [_row(candidate) for candidate in explanation.candidates])
    took = "  ".join(f"{stage.name} {stage.milliseconds:.1f} ms" for stage in explanation.stages)
    if took:
        console.line(took, "dim")


def _row(candidate: "Candidate") -> tuple[str, ...]:
    return (
        "+" if candidate.verdict.is_in else "-",
        candidate.verdict.value.replace("_", " "),
        f"{candidate.combined:.2f}",
        "–" if candidate.dense is None else f"{candidate.dense:.2f}",
        "–" if candidate.sparse is None else f"{candidate.sparse:.2f}",
        f"{candidate.recency:.2f}",
        str(candidate.tokens),
        candidate.entry.id[:8],
        f"{candidate.reason} · {actor_words(candidate.author)} · {candidate.entry.content}",
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
        "included": [candidate.entry.id for candidate in explanation.included],
        "candidates": [_candidate(candidate) for candidate in explanation.candidates],
        "stages": [
            {"name": stage.name, "milliseconds": round(stage.milliseconds, 3)}
            for stage in explanation.stages
        ],
    }


def _candidate(candidate: "Candidate") -> Json:
    return {
        "id": candidate.entry.id,
        "verdict": candidate.verdict.value,
        "reason": candidate.reason,
        "is_shared": candidate.is_shared,
        "dense": rounded(candidate.dense),
        "sparse": rounded(candidate.sparse),
        "relevance": rounded(candidate.relevance),
        "recency": rounded(candidate.recency),
        "boost": rounded(candidate.boost),
        "combined": rounded(candidate.combined),
        "rank": candidate.rank,
        "similarity": rounded(candidate.similarity),
        "similar_to": candidate.similar_to,
        "tokens": candidate.tokens,
        "author": candidate.author,
    }


def _scenario(scenario: "Scenario") -> Json:
    question = scenario.question
    return {
        "name": scenario.name,
        "agent_id": question.agent_id,
        "query": question.query,
        "token_budget": question.token_budget,
        "overrides": dict(question.overrides),
        "pinned": list(question.pinned),
        "excluded": list(question.excluded),
        "expected": list(scenario.expected),
    }


def _outcome(outcome: "ScenarioOutcome") -> Json:
    return {
        "name": outcome.scenario.name,
        "changed": outcome.is_changed,
        "included": list(outcome.included),
        "added": list(outcome.added),
        "removed": list(outcome.removed),
        "reordered": outcome.is_reordered,
        "error": outcome.error,
    }


def _show_outcome(console: Console, outcome: "ScenarioOutcome") -> None:
    if outcome.error:
        mark, remark = ("FAIL   ", "red"), outcome.error
    elif outcome.is_changed:
        mark, remark = ("changed", "yellow"), "in another order" if outcome.is_reordered else ""
    else:
        mark, remark = ("same   ", "green"), ""
    console.parts([mark, (outcome.scenario.name, "bold"), (remark,)])
    for sign, ids, style in (("-", outcome.removed, "red"), ("+", outcome.added, "green")):
        for memory_id in ids:
            content = cut(outcome.about(memory_id), max(console.width - 16, 40))
            console.line(f"    {sign} {memory_id[:8]}  {content}", style)
