"""``digest`` and ``scenarios``: shows an agent's digest, and tests whether saved ones changed."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import PROJECT, Argument, ArgumentGroup, past_moment, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands.digest_output import (
    digest_json,
    explanation_view,
    place_of,
    verdict,
    why_nothing,
)
from synthorg_tui.cli.commands.memories_reading import any_id, find_one
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError, usage_errors
from synthorg_tui.cli.naming import agent_named, known_projects, project_named
from synthorg_tui.cli.output import BLANK, Answer, Line, Parts, View, cut
from synthorg_tui.cli.records import Json, fields, listing
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.listing import answered_elsewhere

if TYPE_CHECKING:
    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.retrieval.explanation import Explanation
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome
    from synthorg_tui.memory.strategies.service import InjectionRequest

CHANGED: Final = 1
"""Exit code of ``scenarios run`` when an agent would get something else."""
_MAX_TOKENS: Final = 1_000_000


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


_STRATEGIES: Final = [strategy.value for strategy in InjectionStrategy]
_QUESTION: Final = (
    Argument("query", nargs="+", metavar="QUERY", help="what the agent is about to do"),
    Argument(
        "--agent",
        metavar="ID",
        help="which agent asks (default: the only one, else the last one in the project)",
    ),
    Argument(
        "--token-budget",
        metavar="N",
        type=whole(0, _MAX_TOKENS),
        help="most tokens that the agent is given (default: what agents get)",
    ),
    ArgumentGroup(
        Argument(
            "--project",
            metavar="NAME",
            help=f"where the agent works: {PROJECT} (default: here, else its latest one)",
        ),
        Argument(
            "--all-projects",
            action="store_true",
            help="from all projects and sessions, as no agent is",
        ),
    ),
    Argument("--session", metavar="ID", help="in which of its sessions (default: none)"),
    Argument(
        "--strategy",
        choices=_STRATEGIES,
        metavar="NAME",
        help=f"{', '.join(_STRATEGIES)} (default: settings)",
    ),
    Argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="another value for a setting of memory.retrieval (repeatable)",
    ),
    Argument(
        "--pin", action="append", default=[], metavar="ID", help="give this memory in any case"
    ),
    Argument("--exclude", action="append", default=[], metavar="ID", help="don't give this memory"),
)


@Command(
    "digest",
    more="Nothing else is printed,\nso the output can be used as it is.",
    examples=(
        'digest "push a branch that has no upstream" --agent claude-code --token-budget 800',
        "digest flaky test --agent codex --token-budget 2000 --explain",
        "digest flaky test --agent codex --token-budget 500 --set min_relevance=0.2 --json",
        "digest flaky test --agent codex --why 3f2a9c1b",
    ),
    arguments=(
        *_QUESTION,
        Argument(
            "--explain",
            action="store_true",
            help="show every candidate and why it is in or out, too, and what is no longer given",
        ),
        Argument(
            "--why", metavar="ID", help="only look: say in one line why this memory is in or out"
        ),
        Argument(
            "--as-of",
            metavar="WHEN",
            type=past_moment,
            help="only look: what would have been given then (slower: it reads the whole store)",
        ),
        Argument(
            "--preview", action="store_true", help="only look: don't count it for the skills in it"
        ),
    ),
).asks
async def digest(context: Context, engine: AnyEngine) -> Answer:
    """Print the digest exactly as an agent would get it; with ``--explain`` also the reasons.

    Memories that are no longer given are looked up for a person only.
    """
    args = context.args
    question = await _question(context, engine)
    memory = engine.settings.memory_of(question.agent_id)
    request = replace(question.request(memory.retrieval, memory.v1), as_of=args.as_of)
    if args.why is not None:
        wanted = await any_id(engine.desk, args.why)
        return verdict(await engine.absences.why(request, wanted))
    looks = args.preview or args.as_of is not None
    give = engine.injection.prepare if looks else engine.injection.serve
    injection = await give(request)
    known = {agent.id for agent in await engine.agents()}
    explanation = await _explanation(context, engine, request, injection.explanation)
    injection = replace(injection, explanation=explanation)
    context.console.warning(explanation.degraded)
    if explanation.own_settings:
        context.console.note(f"settings of its own: {', '.join(explanation.own_settings)}")
    if explanation.tokens_used == explanation.policy_tokens:  # policies at most
        context.console.note(why_nothing(injection, known))
    reasons = [BLANK if injection.text else "", explanation_view(explanation)]
    return Answer(
        digest_json(injection, question.visibility),
        [lambda console: console.exact(injection.text), args.explain and reasons],
    )


@Command("list", "list the scenarios").asks
async def list_scenarios(context: Context, engine: AnyEngine) -> Answer:
    """List the saved scenarios."""
    saved: Sequence[Scenario] = await engine.scenarios.list()
    return listing(
        "scenarios",
        saved,
        _scenario,
        {
            "NAME": lambda it: it.name,
            "AGENT": lambda it: it.question.agent_id,
            "BUDGET": lambda it: str(it.question.token_budget),
            "QUERY": lambda it: it.question.query,
        },
        empty="No scenarios yet; `synthorg-tui scenarios save` keeps one.",
    )


@Command(
    "save",
    "keep a question with what it includes now",
    more="One of the same name is replaced.",
    examples=("scenarios save push git push --agent claude-code --token-budget 800",),
    arguments=(Argument("name", metavar="NAME", help="what to call it"), *_QUESTION),
).asks
async def save(context: Context, engine: AnyEngine) -> Answer:
    """Save a question as a scenario, with the memories that its digest includes now.

    Like deleting one, refused where an agent runs it: scenarios are a person's own tests.
    """
    question = await _question(context, engine)
    saved = await engine.scenarios.save(context.args.name, question)
    context.note_redacted(question.query, saved.question.query)
    expected = counted(len(saved.expected), "memory", "memories")
    return Answer(_scenario(saved), f"Saved {saved.name}: {expected} expected.")


@Command("delete", "forget a scenario", arguments=(Argument("name", metavar="NAME"),)).asks
async def delete(context: Context, engine: AnyEngine) -> Answer:
    """Delete a saved scenario."""
    name = context.args.name
    if not await engine.scenarios.delete(name):
        raise UsageError(
            f"there is no scenario {name!r}", remedy="`synthorg-tui scenarios list` shows them."
        )
    return Answer({"deleted": 1}, f"Deleted {name}.")


@Command(
    "run",
    "ask the scenarios again",
    more="Exits with 1 when an agent would get something else.",
    arguments=(Argument("names", nargs="*", metavar="NAME", help="only these (default: all)"),),
).asks
async def run_scenarios(context: Context, engine: AnyEngine) -> Answer:
    """Run the saved scenarios again; return 1 when a digest changed, else 0."""
    outcomes = await engine.scenarios.run(context.args.names)
    changed = sum(outcome.is_changed for outcome in outcomes)
    names = "name=scenario.name changed=is_changed included added removed reordered=is_reordered"
    return Answer(
        {
            "changed": changed,
            "scenarios": [fields(outcome, f"{names} error") for outcome in outcomes],
        },
        [
            [_outcome_view(outcome) for outcome in outcomes],
            Line(f"{changed} of {counted(len(outcomes), 'scenario')} changed", "dim"),
        ],
        code=CHANGED if changed else 0,
    )


SCENARIOS: Final = Command(
    "scenarios",
    about="Keep questions with what they include, and ask them again after a change.",
    commands=(list_scenarios, save, delete, run_scenarios),
)


async def _explanation(
    context: Context, engine: AnyEngine, request: "InjectionRequest", found: "Explanation"
) -> "Explanation":
    """The explanation with authors, and for a person who asks with what is no longer given."""
    from synthorg_tui.memory.retrieval.explanation import with_authors

    ids = [candidate.entry.id for candidate in found.candidates]
    is_asked = context.args.explain or context.wants_json
    if is_asked and context.agent is None and request.as_of is None:
        found = replace(found, former=await engine.absences.former(request, ids))
        ids += [candidate.entry.id for candidate in found.former]
    return with_authors(found, await engine.desk.authors(ids))


async def _question(context: Context, engine: AnyEngine) -> "Question":
    from synthorg_tui.memory.scenarios import Question

    args = context.args
    overrides = dict(args.set)
    if args.strategy is not None:
        overrides["strategy"] = args.strategy
    pinned = [(await find_one(engine.desk, start)).id for start in args.pin]
    excluded = [(await find_one(engine.desk, start)).id for start in args.exclude]
    budget = args.token_budget
    if budget is None:
        budget = engine.settings.agent_access.digest_token_budget
    view, agent = await _view(context, engine)
    with usage_errors({}):
        return Question(
            agent_id=agent,
            query=" ".join(args.query).strip(),
            token_budget=budget,
            visibility=view,
            overrides=overrides,
            pinned=tuple(pinned),
            excluded=tuple(excluded),
        )


async def _view(context: Context, engine: AnyEngine) -> "tuple[Visibility | None, str]":
    """The project and session of the options, or the agent's usual project; and the agent."""
    from synthorg_tui.memory.index.protocol import Visibility

    args, here = context.args, Path.cwd().resolve()
    if args.all_projects and args.session:
        raise UsageError("--session and --all-projects exclude each other")
    project = await project_named(engine, args.project) if args.project else None
    agent = await agent_named(engine, args.agent, project)
    if args.all_projects:
        return None, agent
    if project is None:
        await known_projects(engine)
        project = (await engine.desk.places(agent)).usual(here)
        counts = (await engine.desk.facets()).projects
        if told := answered_elsewhere(project, here, agent, counts):
            context.console.note(f"{told}; --project NAME or --all-projects changes it")
    return Visibility(args.session or None, project), agent


def _scenario(scenario: "Scenario") -> Json:
    question = scenario.question
    return {
        **fields(scenario, "name agent_id=question.agent_id query=question.query"),
        "token_budget": question.token_budget,
        **place_of(question.visibility),
        **fields(question, "overrides pinned excluded"),
        "expected": list(scenario.expected),
    }


def _outcome_view(outcome: "ScenarioOutcome") -> View:
    mark, remark = ("same   ", "green"), ""
    if outcome.error:
        mark, remark = ("FAIL   ", "red"), outcome.error
    elif outcome.is_changed:
        mark, remark = ("changed", "yellow"), "in another order" if outcome.is_reordered else ""
    moved = (("-", outcome.removed, "red"), ("+", outcome.added, "green"))
    return Parts([mark, (outcome.scenario.name, "bold"), (remark,)]), lambda console: [
        Line(
            f"    {sign} {each[:8]}  {cut(outcome.about(each), max(console.width - 16, 40))}", style
        )
        for sign, ids, style in moved
        for each in ids
    ]
