"""What ``digest`` prints: the digest as JSON, every candidate with its reason, and one verdict."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.output import Answer, Line, Table, View
from synthorg_tui.cli.records import Json, fields, shaped
from synthorg_tui.cli.shapes import rounded
from synthorg_tui.core.actors import actor_words

if TYPE_CHECKING:
    from synthorg_tui.memory.absences import MemoryVerdict
    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, OrgCandidate
    from synthorg_tui.memory.strategies.service import Injection

FORMER: Final = "No longer given, though they fit the question by words:"


def explanation_view(explanation: "Explanation") -> View:
    """Return tables of what the organisation tells, of the candidates and of former memories.

    What took how long stands below.
    """
    used, budget = explanation.tokens_used, explanation.token_budget
    included, left_out = len(explanation.included), len(explanation.left_out)
    header = ("VERDICT", "SCORE", "DENSE", "SPARSE", "RECENT", "TOKENS", "ID")
    former = [
        ("-", candidate.verdict.value, candidate.entry.id[:8], _about(candidate))
        for candidate in explanation.former
    ]
    took = "  ".join(f"{stage.name} {stage.milliseconds:.1f} ms" for stage in explanation.stages)
    return (
        Line(
            f"{used:,} of {budget:,} tokens, {explanation.frame_tokens:,} of them frame"
            f"{_organisation_tokens(explanation)} · "
            f"{included} in, {left_out} out · {explanation.strategy}",
            "bold",
        ),
        [
            Table(
                ("", "VERDICT", "SCORE", "TOKENS", "ID", f"WHY · {title}"),
                [_told_row(each) for each in told],
            )
            for title, told in (("POLICY", explanation.policies), ("FACT", explanation.facts))
            if told
        ],
        Table(
            ("", *header, "WHY · BY · MEMORY"),
            [_row(candidate) for candidate in explanation.candidates],
        ),
        former
        and (Line(FORMER, "bold"), Table(("", "VERDICT", "ID", "WHY · BY · MEMORY"), former)),
        bool(took) and Line(took, "dim"),
    )


def place_of(view: "Visibility | None") -> Json:
    """Return the project and session that a question is asked from, for JSON."""
    return {
        "project": view.project if view else None,
        "session_id": view.session_id if view else None,
        "all_projects": view is None,
    }


def _organisation_tokens(explanation: "Explanation") -> str:
    parts = ((explanation.policy_tokens, "policies"), (explanation.fact_tokens, "facts"))
    return "".join(f", {tokens:,} {what}" for tokens, what in parts if tokens)


def _told_row(told: "OrgCandidate") -> tuple[str, ...]:
    return (
        "+" if told.verdict.is_in else "-",
        told.verdict.value.replace("_", " "),
        f"{told.combined:.2f}" if told.combined else "–",
        str(told.tokens) if told.tokens else "–",
        told.id if told.id.startswith("core-policy-") else told.id[:8],
        f"{told.reason} · {told.content}",
    )


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
        _about(candidate),
    )


def _about(candidate: "Candidate") -> str:
    parts = (candidate.reason, candidate.seen, actor_words(candidate.author))
    return " · ".join([*filter(None, parts), candidate.entry.content])


def verdict(answer: "MemoryVerdict") -> Answer:
    """Return in one line why a memory is in a digest or not."""
    word = answer.verdict.value.replace("_", " ")
    why = answer.reason if answer.reason.startswith(word) else f"{word}: {answer.reason}"
    shape = fields(answer, "id=memory_id verdict reason")
    return Answer(shape, f"{answer.memory_id[:8]}  {why}")


def why_nothing(injection: "Injection", known: set[str]) -> str:
    """Return why a digest is empty, where ``known`` are the agents that have memories."""
    explanation = injection.explanation
    if injection.tools:
        names = ", ".join(tool.name for tool in injection.tools)
        return f"no memory is injected; the agent gets tools: {names}"
    if explanation.agent_id not in known:
        return f"no agent {explanation.agent_id!r} has memories; `synthorg-tui agents` lists them"
    return "the agent would be given no memory; --explain shows why"


def digest_json(injection: "Injection", view: "Visibility | None") -> Json:
    """Return a digest with its explanation, for JSON."""
    explanation = injection.explanation
    return {
        **fields(explanation, "agent_id query"),
        **place_of(view),
        **fields(explanation, "strategy token_budget tokens_used frame_tokens policy_tokens"),
        **fields(explanation, "fact_tokens degraded own_settings"),
        "text": injection.text,
        "tools": [tool.name for tool in injection.tools],
        "included": [candidate.entry.id for candidate in explanation.included],
        "policies": shaped(explanation.policies, _told),
        "facts": shaped(explanation.facts, _told),
        "candidates": shaped(explanation.candidates, _candidate),
        "former": shaped(explanation.former, _candidate),
        "stages": [
            {"name": stage.name, "milliseconds": round(stage.milliseconds, 3)}
            for stage in explanation.stages
        ],
    }


def _told(told: "OrgCandidate") -> Json:
    return {
        **fields(told, "id category verdict reason content"),
        **_scores(told, "dense sparse combined"),
        "tokens": told.tokens,
    }


def _candidate(candidate: "Candidate") -> Json:
    return {
        **fields(candidate, "id=entry.id verdict reason is_shared"),
        **_scores(candidate, "dense sparse relevance recency boost combined similarity lent"),
        **fields(candidate, "rank reordered similar_to tokens author beside members seen"),
    }


def _scores(candidate: object, names: str) -> Json:
    return {name: rounded(getattr(candidate, name)) for name in names.split()}
