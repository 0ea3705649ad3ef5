"""Prints proposals, reviews and decisions for people."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synthorg_tui.cli.output import Console, local_time
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


def show_list(console: Console, entries: "Sequence[InboxEntry]") -> None:
    """Print proposals as a list, one line for each."""
    none = "No proposals; `synthorg-tui learn` draws them from what was imported."
    rows = [
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
    ]
    console.table(
        ("ID", "STATUS", "KIND", "SCOPE", "RUNS", "CONFIDENCE", "TITLE"), rows, empty=none
    )


def show_review(
    console: Console,
    review: "Review",
    trail: "Sequence[ApprovalEvent]",
    excerpts: "Sequence[Excerpt | None]" = (),
) -> None:
    """Print all that a person should see before deciding on a proposal, evidence first.

    ``trail`` is what happened to it until now; ``excerpts`` are transcript lines of its evidence.
    """
    _head(console, review)
    entry = review.entry
    for number, evidence in enumerate(entry.evidence):
        excerpt = excerpts[number] if number < len(excerpts) else None
        _evidence(console, entry.lesson_kind, evidence, excerpt)
    for name, field in entry.fields.items():
        if not field.text:
            continue
        console.line()
        console.parts([(name.replace("_", " "), "bold"), (field.author.words, "dim")])
        console.block(field.text, indent=2)
    _warnings(console, review)
    _effects(console, review)
    if trail:
        _section(console, "what happened to it")
        for event in trail:
            action = f"{deed_of(event.kind, event.actor)} by {actor_words(event.actor)}"
            console.parts([(local_time(event.at), "dim"), (action,), (event.reason, "dim")])
    if review.item.status.value == "pending" and not review.barred:
        console.line()
        console.parts([("hash", "dim"), (short_hash(review), "bold")])
        act = "reject" if review.problem else "approve"
        console.note(f"to {act}: synthorg-tui proposals {act} {review.item.id}")


def show_decision(console: Console, decision: "Decision") -> None:
    """Print the effects of a decision that was taken."""
    console.line(f"{decision.kind.value.replace('_', ' ').capitalize()}: {decision.title}")
    if decision.memory_ids:
        console.line(f"memories: {', '.join(decision.memory_ids)}", "dim")
    console.lines(map(short_path, decision.paths), "dim")
    stays = "was changed meanwhile and stays as it is"
    console.warning(*(f"{short_path(path)} {stays}" for path in decision.left_alone))


@contextmanager
def shown_again(console: Console) -> Iterator[None]:
    """If the proposal changed since it was shown, print it again and let the error pass on."""
    from synthorg_tui.curation.review import ReviewChangedError

    try:
        yield
    except ReviewChangedError as error:
        show_review(console, error.review, ())
        raise


def _head(console: Console, review: "Review") -> None:
    item, entry = review.item, review.entry
    console.line(" ".join(item.title.split()), "bold")
    console.block(item.description)
    console.line()
    only_reported = "no run that was recorded" if entry.evidence else ""
    seen = counted(entry.recurrence, "run") if entry.recurrence else only_reported
    facts = (
        ("id", item.id),
        ("status", item.status.value),
        ("kind", _kind(entry)),
        ("scope", entry.scope),
        *((f"for {scope}", ", ".join(agents)) for scope, agents in review.reach.items()),
        ("seen in", seen),
        (
            "would save",
            f"{counted(entry.saved_calls, 'call')} on record" if entry.saved_calls else "",
        ),
        ("confidence", "" if entry.confidence is None else f"{entry.confidence:.2f}"),
        ("from", actor_words(item.requested_by)),
        *_written(entry),
        ("snoozed", f"until {local_time(item.snoozed_until)}" if item.snoozed_until else ""),
        ("expires", local_time(item.expires_at)),
        ("decided", _decided(item)),
        ("reason", item.decision_reason or ""),
    )
    console.facts(facts)


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
    console: Console, kind: "LessonKind | None", evidence: "Evidence", excerpt: "Excerpt | None"
) -> None:
    _section(console, "evidence")
    console.parts([(evidence.lines, "dim"), (evidence.note, "yellow")])
    texts = (evidence.failed, evidence.error, "\n".join(evidence.between), evidence.resolved_by)
    words = kind.occurrence if kind else ("failed", "said", "then", "worked")
    styles = ("red" if words[0] == "failed" else "", "", "", "green")
    for label, text, style in zip(words, texts, styles, strict=True):
        if text:
            console.line(label, *filter(None, [style]))
            console.block(text, indent=2, max_lines=_LONGEST_OUTPUT)
    for number, text in excerpt.lines if excerpt else ():
        console.parts([(f"{number:>6}", "cyan"), (text[:_WIDEST_LINE],)])


def _warnings(console: Console, review: "Review") -> None:
    if review.barred:
        _section(console, "you may not decide about it")
        console.block(review.barred, indent=2)
    if review.problem:
        _section(console, "it can only be rejected")
        console.block(review.problem, indent=2)
    if review.flags:
        _section(console, "look twice")
    for flag in review.flags:
        problem = _EXPLAINED.get(flag.kind.value, flag.kind.value)
        console.parts([("!", "yellow"), (f"{flag.place} {problem}:", "yellow"), (flag.found,)])
    if review.near:
        _section(console, "much like it already counts")
    for near in review.near:
        console.parts(
            [
                (f"{near.similarity:.2f}", "dim"),
                (near.verdict, "yellow" if near.verdict == "conflict" else ""),
                (near.name, "bold"),
                (near.discovery,),
            ]
        )


def _effects(console: Console, review: "Review") -> None:
    if review.agents:
        _section(console, f"also for {', '.join(review.agents)}")
    if review.replaces:
        goes = "would be archived" if review.entry.kind == "merge" else "would go"
        _section(console, f"{counted(len(review.replaces), 'memory', 'memories')} {goes}")
    for memory in review.replaces:
        console.parts([(memory.id[:8], "dim"), (" ".join(memory.content.split())[:_WIDEST_LINE],)])
    if review.path:
        _section(console, short_path(review.path))
    if review.entry.kind == "org" and (review.diff or review.text):
        _section(console, "what would change")
    if review.entry.kind == "run" and not review.path:
        _section(console, "what it would do")
    if review.diff:
        console.diff(line.rstrip("\n") for line in review.diff)
    elif review.text:
        console.block(review.text)


def _section(console: Console, title: str) -> None:
    console.line()
    console.line(title, "bold")
