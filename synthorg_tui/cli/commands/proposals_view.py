"""Prints proposals, reviews and decisions for people."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

from synthorg_tui.cli.output import (
    BLANK,
    Block,
    Console,
    Diff,
    Facts,
    Line,
    Lines,
    Note,
    Parts,
    Table,
    View,
    Warn,
    local_time,
)
from synthorg_tui.cli.shapes import call_of, memory_of, short_hash, writes_of
from synthorg_tui.core.actors import actor_words, deed_of
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent, ApprovalItem
    from synthorg_tui.curation.models import Evidence, LessonKind
    from synthorg_tui.curation.review import Decision, InboxEntry, Review
    from synthorg_tui.executions.store import Excerpt

_WIDEST_LINE = 2000
_LONGEST_OUTPUT = 12
_EXPLAINED = {
    "secret": "holds a secret",
    "injection": "says what may steer a model",
    "hidden": "hides",
}


def listed(entries: "Sequence[InboxEntry]") -> View:
    """Return proposals as a list, one line for each."""
    return Table(
        ("ID", "STATUS", "KIND", "SCOPE", "RUNS", "CONFIDENCE", "TITLE"),
        [
            (
                entry.item.id,
                entry.item.status.value,
                _kind(entry),
                entry.scope or "–",
                str(entry.recurrence or "–"),
                "–" if entry.confidence is None else f"{entry.confidence:.2f}",
                entry.item.title,
            )
            for entry in entries
        ],
        empty="No proposals; `synthorg-tui learn` draws them from what was imported.",
    )


def review_view(
    review: "Review", trail: "Sequence[ApprovalEvent]", excerpts: "Sequence[Excerpt | None]" = ()
) -> View:
    """Return all that a person should see before deciding on a proposal, evidence first.

    ``trail`` is what happened to it until now; ``excerpts`` are transcript lines of its evidence.
    """
    entry, act = review.entry, "reject" if review.problem else "approve"
    return [
        _head(review),
        [
            _evidence(entry.lesson_kind, evidence, excerpt)
            for evidence, excerpt in zip_longest(entry.evidence, excerpts)
        ],
        [
            (
                BLANK,
                Parts([(name.replace("_", " "), "bold"), (field.author.words, "dim")]),
                Block(field.text, indent=2),
            )
            for name, field in entry.fields.items()
            if field.text
        ],
        _warnings(review),
        _effects(review),
        _section("what happened to it", *map(_event, trail)) if trail else "",
        review.item.status.value == "pending"
        and not review.barred
        and (
            BLANK,
            Parts([("hash", "dim"), (short_hash(review), "bold")]),
            Note(f"to {act}: synthorg-tui proposals {act} {review.item.id}"),
        ),
    ]


def _event(event: "ApprovalEvent") -> View:
    action = f"{deed_of(event.kind, event.actor)} by {actor_words(event.actor)}"
    return Parts([(local_time(event.at), "dim"), (action,), (event.reason, "dim")])


def decision_view(decision: "Decision") -> View:
    """Return the effects of a decision that was taken."""
    stays = "was changed meanwhile and stays as it is"
    return (
        Line(f"{decision.kind.value.replace('_', ' ').capitalize()}: {decision.title}"),
        decision.memory_ids and Line(f"memories: {', '.join(decision.memory_ids)}", "dim"),
        Lines(map(short_path, decision.paths), "dim"),
        Warn(*(f"{short_path(path)} {stays}" for path in decision.left_alone)),
    )


@contextmanager
def shown_again(console: Console) -> Iterator[None]:
    """If the proposal changed since it was shown, print it again and let the error pass on."""
    from synthorg_tui.curation.review import ReviewChangedError

    try:
        yield
    except ReviewChangedError as error:
        console.show(review_view(error.review, ()))
        raise


def _head(review: "Review") -> View:
    item, entry = review.item, review.entry
    only_reported = "no run that was recorded" if entry.evidence else ""
    saved = f"{counted(entry.saved_calls, 'call')} on record" if entry.saved_calls else ""
    facts = (
        ("id", item.id),
        ("status", item.status.value),
        ("kind", _kind(entry)),
        ("scope", entry.scope),
        *((f"for {scope}", ", ".join(agents)) for scope, agents in review.reach.items()),
        ("seen in", counted(entry.recurrence, "run") if entry.recurrence else only_reported),
        ("would save", saved),
        ("confidence", "" if entry.confidence is None else f"{entry.confidence:.2f}"),
        ("from", actor_words(item.requested_by)),
        *_written(entry),
        ("snoozed", f"until {local_time(item.snoozed_until)}" if item.snoozed_until else ""),
        ("expires", local_time(item.expires_at)),
        ("decided", _decided(item)),
        ("reason", item.decision_reason or ""),
    )
    title = Line(" ".join(item.title.split()), "bold")
    return title, Block(item.description), BLANK, Facts(facts)


def _decided(item: "ApprovalItem") -> str:
    if not item.decided_by:
        return ""
    deed = deed_of(item.status, item.decided_by)
    how = f"by {actor_words(item.decided_by)}"
    how = how if deed == item.status else f"{deed} {how}"
    return f"{local_time(item.decided_at)} {how}"


def _written(entry: "InboxEntry") -> Iterator[tuple[str, str]]:
    """What goes with a text that is to be kept."""
    memory = memory_of(entry)
    if memory is not None:
        redactions = [f"{kind} ×{times}" for kind, times in memory["redactions"].items()]
        yield "project", memory["project"] or "none"
        yield "category", memory["category"]
        yield "through", memory["source"] or ""
        yield "tags", ", ".join(memory["tags"])
        yield "redacted", ", ".join(redactions) or "nothing"
    organisation = writes_of(entry) or {"changes": [], "source": ""}
    for change in organisation["changes"]:
        fact = f"fact {change['fact_id'][:8]}" if change["fact_id"] else "a new fact"
        yield change["kind"], fact
        yield "category", change["category"] or ""
        yield "tags", ", ".join(change["tags"])
    yield "through", organisation["source"]
    if call := call_of(entry):
        yield "tool", call["tool"]
        yield "in", short_path(call["workspace"])
        yield "run", call["run_id"]


def _kind(entry: "InboxEntry") -> str:
    """The kind of its lesson, where it proposes one for its own agent, else its own kind."""
    lesson = entry.lesson_kind if entry.kind == "lesson" else None
    return lesson.value if lesson else entry.kind.value.replace("_", " ")


def _evidence(
    kind: "LessonKind | None", evidence: "Evidence | None", excerpt: "Excerpt | None"
) -> View:
    if evidence is None:
        return ""
    texts = (evidence.failed, evidence.error, "\n".join(evidence.between), evidence.resolved_by)
    words = kind.occurrence if kind else ("failed", "said", "then", "worked")
    styles = (("red",) if words[0] == "failed" else (), (), (), ("green",))
    return _section(
        "evidence",
        Parts([(evidence.lines, "dim"), (evidence.note, "yellow")]),
        *(
            (Line(label, *style), Block(text, indent=2, max_lines=_LONGEST_OUTPUT))
            for label, text, style in zip(words, texts, styles, strict=True)
            if text
        ),
        *(
            Parts([(f"{number:>6}", "cyan"), (text[:_WIDEST_LINE],)])
            for number, text in (excerpt.lines if excerpt else ())
        ),
    )


def _warnings(review: "Review") -> View:
    near = [
        Parts(
            [
                (f"{near.similarity:.2f}", "dim"),
                (near.verdict, "yellow" if near.verdict == "conflict" else ""),
                (near.name, "bold"),
                (near.discovery,),
            ]
        )
        for near in review.near
    ]
    flags = [
        Parts([("!", "yellow"), (f"{flag.place} {problem}:", "yellow"), (flag.found,)])
        for flag in review.flags
        for problem in [_EXPLAINED.get(flag.kind.value, flag.kind.value)]
    ]
    return (
        review.barred and _section("you may not decide about it", Block(review.barred, indent=2)),
        review.problem and _section("it can only be rejected", Block(review.problem, indent=2)),
        flags and _section("look twice", *flags),
        near and _section("much like it already counts", *near),
    )


def _effects(review: "Review") -> View:
    kind, count = review.entry.kind, counted(len(review.replaces), "memory", "memories")
    goes = "would be archived" if kind == "merge" else "would go"
    gone = [
        Parts([(memory.id[:8], "dim"), (" ".join(memory.content.split())[:_WIDEST_LINE],)])
        for memory in review.replaces
    ]
    return (
        review.agents and _section(f"also for {', '.join(review.agents)}"),
        gone and _section(f"{count} {goes}", *gone),
        review.path and _section(short_path(review.path)),
        kind == "org" and bool(review.diff or review.text) and _section("what would change"),
        kind == "run" and not review.path and _section("what it would do"),
        Diff(line.rstrip("\n") for line in review.diff) if review.diff else Block(review.text),
    )


def _section(title: str, *parts: View) -> View:
    return (BLANK, Line(title, "bold"), *parts)
