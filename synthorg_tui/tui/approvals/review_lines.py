"""A review as styled lines: evidence, what would be stored, what it replaces, and its origin.

The input is the engine's ``Review``; nothing here uses Textual. Texts and their authors are worked
out in ``wording``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.core.actors import actor_words, deed_of
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.redaction import marks_in
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.grounds import call_lines, evidence_lines, flag_lines
from synthorg_tui.tui.approvals.lines import (
    LABEL,
    MAX_DIFF,
    RISKS,
    disagree,
    hung,
    kind_mark,
    unified_lines,
)
from synthorg_tui.tui.approvals.state import agent_of, both_sides
from synthorg_tui.tui.approvals.wording import (
    FIELDS,
    STEPS,
    TITLES,
    Parts,
    Reworded,
    Wording,
    author_of,
    call_of,
    lesson_of,
    org_of,
    rewordable,
    whose_words,
    write_of,
)
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import (
    Line,
    bar,
    fact,
    facts,
    line,
    one_line,
    rule,
    section,
    text_lines,
)
from synthorg_tui.tui.memories.detail import diff_lines

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.models import Lesson
    from synthorg_tui.curation.review import (
        InboxEntry,
        OrgPayload,
        Review,
        WritePayload,
    )
    from synthorg_tui.memory.listing import ListedMemory

AUTHORS = {
    "evidence": ("◆", "evidence", "good"),
    "reported": ("◌", "reported", "warn"),
    "model": ("◇", "model", "warn"),
    "person": ("✎", "you", "accent"),
}
"""Glyph, word and role of who wrote a field."""

VERDICTS = {
    "full": ("↻ replaced", "accent"),
    "partial": ("∩ stays beside it", "muted"),
    "conflict": ("↯ says otherwise", "bad"),
}
"""The effect of approving on an existing skill, in a word, with its style role."""

KEPT = "What would be stored"
DONE = "What would be done"
_MAX_REMOVED = 200


def head_lines(entry: InboxEntry) -> list[Line]:
    """Render the item's kind, agent, confidence and number of occurrences."""
    glyph, word, role = kind_mark(entry)
    head = line((f"{glyph} {word}", role))
    agent, scope = one_line(agent_of(entry)), one_line(entry.scope)
    if entry.kind == "org":
        scope = "for all agents"
    if agent and scope in ("", "agent"):
        head.add(" · for ", "muted").add(agent, "strong").add(" only" if scope else "", "muted")
    else:
        head.add(f" · {scope}" if scope else "", "muted")
        head.add(" · from " if agent else "", "muted").add(agent, "strong")
    risk = entry.item.risk_level
    head.add(" · ", "muted").add(f"{risk} risk", RISKS[risk])
    if entry.confidence is None:
        return [head]
    sure = line(("confidence ", "muted")).extend(bar(entry.confidence, 10))
    sure.add(f" {entry.confidence:.2f}", "text")
    sure.add(f"  seen in {counted(entry.recurrence, 'run')}" if entry.recurrence else "", "accent")
    only_reported = bool(entry.evidence) and not entry.recurrence
    return [head, sure.add("  only reported" if only_reported else "", "warn")]


def wording_lines(wording: Wording, entry: InboxEntry, *, draft: bool = False) -> list[Line]:
    """Render the fields of a lesson with their authors; with ``draft``, its changes as a diff."""
    lines: list[Line] = []
    lesson = lesson_of(entry)
    before = Wording.of(lesson.proposal) if lesson else wording
    for name in (*FIELDS, STEPS):
        text = wording.text(name)
        if not text:
            continue
        lines += [Line()] if lines else []
        mark, word, role = AUTHORS.get(author_of(name, wording, entry), ("?", "unknown", "muted"))
        lines.append(line((TITLES[name], "strong"), ("  ", "text"), (f"{mark} {word}", role)))
        if draft and before.text(name) != text:
            lines.extend(hung(row, 4) for row in diff_lines(before.text(name), text))
        elif name == STEPS:
            lines.extend(_steps(wording.steps))
        else:
            lines.extend(text_lines(text))
    return [*lines, *_refused_lines(lesson)]


def _refused_lines(lesson: Lesson | None) -> list[Line]:
    """What of a model's words wasn't taken, and why."""
    if lesson is None or not lesson.refused:
        return []
    why = [line(("- ", "bad"), (one_line(text), "muted")) for text in lesson.refused.values()]
    title = line(("Refused of the model's words", "strong"))
    return [Line(), title, *(hung(row, 2) for row in why)]


def _steps(steps: Sequence[str]) -> list[Line]:
    lines = []
    for number, step in enumerate(steps, start=1):
        first, *rest = text_lines(step)
        head = line((f"{number:>2}. ", "accent"), hang=4)
        lines.append(head.extend(first))
        lines.extend(line(("    ", "text")).extend(row) for row in rest)
    return lines


def part_lines(parts: Parts, width: int) -> list[tuple[object, Line]]:
    """Render a line for each field with the author of the version used, and one for each step."""
    lines: list[tuple[object, Line]] = []
    for choice in parts.choices:
        if not any(text for _, text in choice.texts):
            continue
        mark, word, role = AUTHORS.get(choice.author, ("?", choice.author, "muted"))
        arrows = ("‹ ", " ›") if len(choice.texts) > 1 else ("  ", "  ")
        row = line((TITLES[choice.name].ljust(11), "strong"), (arrows[0], "faint"))
        row.add(f"{mark} {word}".ljust(10), role).add(arrows[1], "faint")
        lines.append((choice.name, row.add(" " + one_line(choice.text), "text").fit(width)))
    if parts.steps:
        taken = sum(takes for _, takes in parts.steps)
        head = line(("Steps ", "title"), (f"{taken} of {len(parts.steps)} kept", "muted"))
        lines.append((None, head.fit(width)))
    for at, (text, takes) in enumerate(parts.steps):
        row = line(("✓ " if takes else "✗ ", "good" if takes else "faint"))
        lines.append((at, row.add(one_line(text), "text" if takes else "faint").fit(width)))
    return lines


def near_lines(review: Review) -> list[Line]:
    """Render similar skills that exist already, and what approving does to each.

    Those that say otherwise come first.
    """
    lines = []
    for near in sorted(review.near, key=lambda near: near.verdict != "conflict"):
        word, role = VERDICTS.get(near.verdict, (near.verdict, "muted"))
        row = bar(near.similarity, 6, "warn").add(f" {near.similarity:.2f} ", "muted")
        lines.append(row.add(one_line(near.name), "strong").add(f"  {word}" if word else "", role))
        lines.append(hung(line(("   ", "text"), (one_line(near.discovery), "text")), 3))
    return lines


def about_lines(review: Review, trail: Sequence[ApprovalEvent], now: datetime) -> list[Line]:
    """Render the item's origin, when it expires, and the events of its trail."""
    item, write = review.item, write_of(review.entry)
    written = write.draft.created_at if write is not None else None
    snoozed = item.snoozed_until if item.snoozed_until and item.snoozed_until > now else None
    by = item.decided_by
    return [
        rule("About"),
        *facts(
            ("proposed by", one_line(actor_words(item.requested_by))),
            ("written", moment(written, now) if written is not None else ""),
            ("since", moment(item.created_at, now)),
            ("expires", _day(item.expires_at, now)),
            ("snoozed", _day(snoozed, now), "warn"),
            (deed_of(item.status, by), one_line(f"by {actor_words(by)}"), "strong")
            if by
            else ("", ""),
            ("because", one_line(item.decision_reason or "")),
            ("copies to", one_line(", ".join(review.agents))),
            ("id", item.id, "faint"),
            ("fingerprint", review.shown[:12], "faint"),
        ),
        *(_event_line(event, now) for event in trail),
    ]


def _day(when: datetime | None, now: datetime) -> str:
    return moment(when, now).partition(" · ")[0] if when is not None else ""


def _event_line(event: ApprovalEvent, now: datetime) -> Line:
    deed = deed_of("proposed" if event.kind == "added" else event.kind, event.actor)
    row = fact(deed, one_line(actor_words(event.actor)), "muted")
    row.add(f"  {ago(event.at, now)}", "faint")
    return row.add(f"  {one_line(event.reason)}" if event.reason else "", "text")


def reach_lines(review: Review, scope: str | None) -> list[Line]:
    """Render whom each scope would reach; ``scope`` is the one that the person chose.

    A scope that reaches the same agents as a narrower one has no line, unless it was chosen.
    """
    if not review.reach:
        return []
    taken = scope or review.entry.scope or str(next(iter(review.reach)))
    note = f"{key_of('review.scope')} changes it" if len(review.reach) > 1 else ""
    lines, shown = [Line(), rule("For whom", note)], set[tuple[str, ...]]()
    for each, agents in review.reach.items():
        is_taken = each == taken
        if agents in shown and not is_taken:
            continue
        shown.add(agents)
        names = one_line(", ".join(agents)) or "nobody yet"
        row = line(("● " if is_taken else "○ ", "accent" if is_taken else "faint"))
        row.add(str(each).ljust(LABEL), "strong" if is_taken else "muted")
        lines.append(hung(row.add(names, "text" if is_taken else "muted"), LABEL + 2))
    return lines


def ground_lines(
    review: Review,
    now: datetime,
    chosen: int = -1,
    scope: str | None = None,
    helps: Sequence[Line] = (),
) -> list[Line]:
    """Render the grounds for a decision: suspicious passages, the evidence, for whom it would be.

    ``helps`` are lines about the effect of what is reviewed.
    """
    evidence, is_said = review.entry.evidence, review.entry.lesson_kind == "correction"
    shown = evidence_lines(evidence, now, chosen, is_said=is_said)
    return [
        *(section("Look out", flag_lines(review)) if review.flags else []),
        *(section("Evidence", shown) if evidence else []),
        *([Line(), *helps] if helps else []),
        *reach_lines(review, scope),
        Line(),
    ]


def advice_lines(wording: Reworded | None) -> list[Line]:
    """Render when a lesson applies and what to do then; empty for other items."""
    if not isinstance(wording, Wording):
        return []
    rows = (("When", wording.condition.removeprefix("When ")), ("Do", wording.action))
    return [Line(), *(fact(label, one_line(text), "strong") for label, text in rows if text)]


def whole_lines(
    review: Review,
    trail: Sequence[ApprovalEvent],
    now: datetime,
    draft: Reworded | None = None,
    chosen: int = -1,
    scope: str | None = None,
    helps: Sequence[Line] = (),
) -> list[Line]:
    """Render a whole review in one column: what it advises first, then why; ``helps`` as there."""
    wording = rewordable(review.entry)
    return [
        *head_lines(review.entry),
        *advice_lines(draft or wording),
        *ground_lines(review, now, chosen, scope, helps),
        *([rule(KEPT)] if wording is not None else []),
        *kept_lines(review, draft),
        Line(),
        *similar_lines(review),
        *about_lines(review, trail, now),
    ]


def beside_lines(review: Review, draft: Reworded | None) -> list[Line]:
    """Render what stands beside the grounds: similar skills, and what approving would store."""
    return [*similar_lines(review), *kept_lines(review, draft)]


def similar_lines(review: Review) -> list[Line]:
    """Render the similar skills under a heading that counts contradictions; empty without any."""
    if not review.near:
        return []
    against = sum(near.verdict == "conflict" for near in review.near)
    note = f"↯ {counted(against, 'contradiction')}" if against else ""
    return [rule("Nearly the same", note), *near_lines(review), Line()]


def changed_lines(before: Review, after: Review) -> list[Line]:
    """Render the differences between two reviews of an item as removed and added lines."""
    return diff_lines(_as_text(before), _as_text(after))


def news_lines(stale: tuple[Review, Review] | None) -> list[Line]:
    """Render what changed since the person read the review; empty if nothing did.

    ``stale`` holds the review as it was read and as it is now.
    """
    if stale is None:
        return []
    return [line(("Changed since you read it", "title")), *changed_lines(*stale), Line()]


def _as_text(review: Review) -> str:
    wording = rewordable(review.entry)
    if isinstance(wording, Wording):
        parts = [wording.text(name) for name in (*FIELDS, STEPS)]
    else:
        parts = [wording] if wording is not None else []
    removed = [_removed(memory, review) for memory in review.replaces]
    return "\n".join([*parts, *review.diff, *removed, *(flag.found for flag in review.flags)])


def _removed(memory: ListedMemory, review: Review) -> str:
    """A memory that would be removed, and why where that is known."""
    subject = review.entry.subject
    reasons = subject.reasons if subject is not None and subject.type == "prune" else {}
    first = memory.content.strip().partition("\n")[0][:_MAX_REMOVED].removeprefix("[DISCOVERY] ")
    is_told = disagree(review.entry) or not reasons.get(memory.id)  # it says both sides above
    return first if is_told else f"{first} ({reasons[memory.id]})"


def kept_lines(review: Review, draft: Reworded | None) -> list[Line]:
    """Render the effects of approving: the new wording, what is removed, and the changed file."""
    parts: list[list[Line]] = []
    wording = draft or rewordable(review.entry)
    if review.item.description and wording is None:
        parts.append(text_lines(review.item.description))
    if draft is not None:
        whose = whose_words(review.entry, draft)
        parts.append([line(("✎ ", "accent"), (f"{whose}; not approved yet", "strong"))])
    parts += _asked_parts(review, draft)
    if isinstance(wording, Wording):
        parts.append(wording_lines(wording, review.entry, draft=draft is not None))
    if review.replaces:
        removed = [
            line(("- ", "bad"), (one_line(_removed(memory, review)), "text"))
            for memory in review.replaces
        ]
        verb = "Archives" if review.entry.kind == "merge" else "Removes"
        title = rule(verb, counted(len(removed), "memory", "memories"))
        parts.append([title, *(hung(row, 2) for row in removed)])
    if review.path:
        parts.append(_file_lines(review))
    elif review.entry.kind in ("delete", "merge"):
        parts.append([rule("In full"), *unified_lines(review.diff)])
    return [row for part in parts for row in (*part, Line())][:-1]


def _asked_parts(review: Review, draft: Reworded | None) -> Iterator[list[Line]]:
    """What an agent, a file or a model asks for."""
    if write := write_of(review.entry):
        yield write_lines(write, draft if isinstance(draft, str) else None)
    if org := org_of(review.entry):
        yield [*org_lines(org, draft), *org_change_lines(review)]
    if call := call_of(review.entry):
        yield call_lines(call, review)
    if review.entry.kind == "merge":
        yield [rule("New text", "by a model"), *text_lines(review.text)]


def write_lines(write: WritePayload, draft: str | None = None) -> list[Line]:
    """Render the exact text an agent wants to store and its metadata; with ``draft``, a diff."""
    request = write.draft.request
    lines = text_lines(request.content)
    if draft is not None:
        lines = [hung(row, 4) for row in diff_lines(request.content, draft)]
    tags = request.metadata.tags
    redactions = marks_in(request.content).items()
    redacted = ", ".join(f"{one_line(kind)} ×{times}" for kind, times in redactions)
    return [
        *lines,
        Line(),
        fact("as", f"{request.category}, {parse_tags(tags).sensitivity}"),
        fact("project", one_line(write.draft.project or "") or "none"),
        fact("through", one_line(request.metadata.source or ""), "muted"),
        *facts(
            ("tags", " ".join(f"#{one_line(tag)}" for tag in tags), "muted"),
            ("redacted", redacted or "nothing", "warn" if redacted else "muted"),
        ),
    ]


def org_lines(org: OrgPayload, draft: Reworded | None = None) -> list[Line]:
    """Render what would become known to all agents, as what, and why; with ``draft``, a diff.

    Texts of several writes aren't here: they stand in full below.
    """
    lines: list[Line] = []
    if len(org.texts) == 1:
        lines = text_lines(org.texts[0])
        if isinstance(draft, str):
            lines = [hung(row, 4) for row in diff_lines(org.texts[0], draft)]
        lines.append(Line())
    for change in org.changes:
        said, replaced = change.request, (change.fact_id or "")[:8]
        if said is None:
            lines.append(fact("retracts", f"fact {replaced}", "warn"))
            continue
        lines += facts(
            ("as", said.category.value.replace("_", " "), "strong"),
            ("replaces", f"fact {replaced}" if replaced else "", "warn"),
            ("tags", " ".join(f"#{one_line(tag)}" for tag in said.tags), "muted"),
        )
    why = one_line(org.why) if org.texts else ""
    return [*lines, *facts(("why", why), ("through", one_line(org.source), "muted"))]


def org_change_lines(review: Review) -> list[Line]:
    """Render old and new text of what is known, or the new ones in full; empty for one new text."""
    if review.diff:
        return section("Change", unified_lines(review.diff))
    return section("In full", text_lines(review.text)) if review.text else []


def _file_lines(review: Review) -> list[Line]:
    where = hung(line(("", "text"), (one_line(short_path(review.path)), "accent")), 2)
    if review.diff:
        change = [rule("Change of the file"), where, *unified_lines(review.diff)]
        ours = both_sides(review)
        return [*change, *_both_lines(review.text, ours)] if ours else change
    text = _file_text(review.text) if review.text else []
    return [rule("New file" if text else "File"), where, *text]


def _both_lines(on_disk: str, ours: str) -> list[Line]:
    """Both versions of a file that both sides changed."""
    disk, own = [rule("On disk"), *_file_text(on_disk)], [rule("Ours"), *_file_text(ours)]
    return [Line(), *disk, Line(), *own]


def _file_text(text: str) -> list[Line]:
    lines = text_lines(text.rstrip("\n"), "muted")
    more = [line((f"… {len(lines) - MAX_DIFF:,} more lines", "faint"))]
    return [*lines[:MAX_DIFF], *(more if len(lines) > MAX_DIFF else [])]


def banner_line(
    review: Review | None, draft: Reworded | None, *, is_stale: bool, scope: str | None = None
) -> Line:
    """Render a warning that the person should read before deciding; empty if there is none."""
    if is_stale:
        news = "It changed since you read it. Nothing was decided: read it again."
        return line(("  ! ", "bad"), (news, "warn"))
    if review is not None and review.barred:
        return line(("  ! ", "bad"), (one_line(review.barred), "warn"))
    if review is not None and review.problem:
        return line(("  ! ", "bad"), (f"It can only be rejected: {review.problem}", "warn"))
    if review is not None and both_sides(review):
        both = "Both sides changed this file: approving takes the one on disk. Both are below."
        return line(("  ↯ ", "bad"), (both, "warn"))
    if review is None or (draft is None and scope is None):
        return Line()
    changed = [whose_words(review.entry, draft)] if draft is not None else []
    changed += [f"For the scope {scope}"] if scope is not None else []
    banner = line(("  ✎ ", "accent"), (f"{' · '.join(changed)}  ", "text"))
    banner.add(key_of("review.approve"), "accent").add(" approves it  ", "muted")
    return banner.add(key_of("review.drop"), "accent").add(" drops it", "muted")
