"""``digest`` and ``scenarios``: shows an agent's digest, and tests whether saved ones changed."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, past_moment, path
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.digest_output import (
    digest_json,
    place_of,
    print_verdict,
    show_explanation,
    why_nothing,
)
from synthorg_tui.cli.commands.memories_reading import any_id, find_one
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Console, cut
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.redaction import replaced_in
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import InjectionStrategy

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.retrieval.explanation import Explanation
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome
    from synthorg_tui.memory.strategies.service import InjectionRequest

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
            "digest flaky test --agent codex --why 3f2a9c1b",
        ),
    )
    _add_question(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show every candidate and why it is in or out, too, and what is no longer given",
    )
    parser.add_argument(
        "--why", metavar="ID", help="only look: say in one line why this memory is in or out"
    )
    parser.add_argument(
        "--as-of",
        metavar="WHEN",
        type=past_moment,
        help="only look: what would have been given then (slower: it reads the whole store)",
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
        metavar="N",
        type=_tokens,
        help="most tokens that the agent is given (default: what agents get)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--project",
        type=path,
        metavar="DIR",
        help="where the agent works (default: here, else its latest project)",
    )
    where.add_argument(
        "--all-projects", action="store_true", help="from all projects and sessions, as no agent is"
    )
    parser.add_argument("--session", metavar="ID", help="in which of its sessions (default: none)")
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
    """Print the digest exactly as an agent would get it; with ``--explain`` also the reasons.

    Memories that are no longer given are looked up for a person only.
    """
    from dataclasses import replace

    async with context.engine() as engine:
        question = await _question(context, engine)
        memory = engine.settings.memory_of(question.agent_id)
        request = question.request(memory.retrieval, memory.v1)
        request = replace(request, as_of=context.args.as_of)
        if context.args.why is not None:
            wanted = await any_id(engine.desk, context.args.why)
            return print_verdict(context, await engine.absences.why(request, wanted))
        looks = context.args.preview or context.args.as_of is not None
        give = engine.injection.prepare if looks else engine.injection.serve
        injection = await give(request)
        known = {agent.id for agent in await engine.agents()}
        explanation = await _explanation(context, engine, request, injection.explanation)
    injection = replace(injection, explanation=explanation)
    if explanation.degraded:
        context.console.warning(explanation.degraded)
    if explanation.own_settings:
        context.console.note(f"settings of its own: {', '.join(explanation.own_settings)}")
    if explanation.tokens_used == explanation.policy_tokens:  # policies at most
        context.console.note(why_nothing(injection, known))
    if context.wants_json:
        context.console.json(digest_json(injection, question.visibility))
        return 0
    context.console.exact(injection.text)
    if context.args.explain:
        if injection.text:
            context.console.line()
        show_explanation(context.console, explanation)
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
    async with context.engine() as engine:
        question = await _question(context, engine)
        saved = await engine.scenarios.save(context.args.name, question)
    if told := replaced_in(question.query, saved.question.query):
        context.console.note(told)
    expected = counted(len(saved.expected), "memory", "memories")
    return context.print_result(_scenario(saved), f"Saved {saved.name}: {expected} expected.")


async def run_delete(context: "Context") -> int:
    """Delete a saved scenario."""
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


async def _explanation(
    context: "Context", engine: "AnyEngine", request: "InjectionRequest", found: "Explanation"
) -> "Explanation":
    """The explanation with authors, and for a person who asks with what is no longer given."""
    from dataclasses import replace

    from synthorg_tui.memory.retrieval.explanation import with_authors

    ids = [candidate.entry.id for candidate in found.candidates]
    is_asked = context.args.explain or context.wants_json
    if is_asked and context.agent is None and request.as_of is None:
        found = replace(found, former=await engine.absences.former(request, ids))
        ids += [candidate.entry.id for candidate in found.former]
    return with_authors(found, await engine.desk.authors(ids))


async def _question(context: "Context", engine: "AnyEngine") -> "Question":
    from pydantic import ValidationError

    from synthorg_tui.memory.scenarios import Question

    args = context.args
    overrides = dict(args.set)
    if args.strategy is not None:
        overrides["strategy"] = args.strategy
    pinned = [(await find_one(engine.desk, start)).id for start in args.pin]
    excluded = [(await find_one(engine.desk, start)).id for start in args.exclude]
    budget = args.token_budget
    try:
        return Question(
            agent_id=args.agent,
            query=" ".join(args.query).strip(),
            token_budget=(
                engine.settings.agent_access.digest_token_budget if budget is None else budget
            ),
            visibility=await _view(context, engine),
            overrides=overrides,
            pinned=tuple(pinned),
            excluded=tuple(excluded),
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(f"{field}: {first['msg'].removeprefix('Value error, ')}") from error


async def _view(context: "Context", engine: "AnyEngine") -> "Visibility | None":
    """The project and session of the options, or the agent's usual project, which is named."""
    from synthorg_tui.memory.index.protocol import Visibility

    args = context.args
    if args.all_projects:
        if args.session:
            raise UsageError("--session and --all-projects exclude each other")
        return None
    project = str(args.project.resolve()) if args.project else None
    if project is None:
        here = Path.cwd().resolve()
        project = (await engine.desk.places(args.agent)).usual(here)
        if project is not None and not here.is_relative_to(project):
            context.console.note(f"as in {project}; --project or --all-projects changes it")
    return Visibility(args.session or None, project)


def _scenario(scenario: "Scenario") -> Json:
    question = scenario.question
    return {
        "name": scenario.name,
        "agent_id": question.agent_id,
        "query": question.query,
        "token_budget": question.token_budget,
        **place_of(question.visibility),
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
