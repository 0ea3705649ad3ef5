"""A review as lines: evidence first, then what would be kept, what it replaces, and the rest."""

from collections.abc import Sequence
from datetime import datetime

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.approvals.lines import RISKS, kind_mark
from synthorg_tui.tui.approvals.ports import (
    FIELDS,
    STEPS,
    ApprovalRow,
    Note,
    Occurrence,
    ReviewSheet,
    Reworded,
    Wording,
)
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import Line, line, one_line, text_lines
from synthorg_tui.tui.memories.detail import diff_lines
from synthorg_tui.tui.memories.lines import bar

AUTHORS = {
    "evidence": ("◆", "evidence", "good"),
    "model": ("◇", "model", "warn"),
    "person": ("✎", "you", "accent"),
}
"""Glyph, word and role of who wrote a field."""

TITLES = {
    "discovery": "Discovery",
    "condition": "Condition",
    "action": "Action",
    "rationale": "Rationale",
    STEPS: "Steps",
}
VERDICTS = {
    "full": ("↻ replaced", "accent"),
    "partial": ("∩ stays beside it", "muted"),
    "conflict": ("↯ says otherwise", "bad"),
}
"""What approving does to a skill that is there, in a word, and its role."""

FLAGS = {"secret": "a secret", "injection": "an instruction to the agent", "hidden": "hidden text"}
KEPT = "What would be kept"
_LABEL = 11
_MAX_DIFF = 800


def rule(title: str, note: str = "") -> Line:
    """A section's title with a line to the edge."""
    made = line((title + " ", "title"), (f"{note} " if note else "", "faint"))
    made.fill = "track"
    return made


def fact(label: str, value: str, role: str = "text") -> Line:
    """A labelled value; what it takes beyond the first row is indented."""
    made = line((label.ljust(_LABEL), "muted"), (value, role))
    made.hang = _LABEL
    return made


def head_lines(row: ApprovalRow) -> list[Line]:
    """What it is, whose, how sure it is and how often it was seen."""
    glyph, word, role = kind_mark(row.kind)
    made = line((f"{glyph} {word}", role))
    for text, text_role in ((row.agent_id, "strong"), (row.scope, "muted")):
        made.add("  ", "text").add(one_line(text), text_role) if text else made
    made.add(f"  {row.risk} risk", RISKS.get(row.risk, "muted"))
    if row.confidence is None:
        return [made]
    sure = line(("confidence ", "muted")).extend(bar(row.confidence, 10))
    sure.add(f" {row.confidence:.2f}", "text")
    sure.add(f"  seen in {counted(row.recurrence, 'run')}" if row.recurrence else "", "accent")
    return [made, sure]


def flag_lines(sheet: ReviewSheet) -> list[Line]:
    """What looks dangerous in it, each with where."""
    made = []
    for flag in sheet.flags:
        told = line(("! ", "bad"), (FLAGS.get(flag.kind, flag.kind), "bad"), (" in ", "muted"))
        told.add(one_line(flag.where), "text").add("  " + one_line(flag.says), "warn")
        told.hang = 2
        made.append(told)
    return made


def evidence_lines(
    occurrences: Sequence[Occurrence], now: datetime, chosen: int = -1
) -> list[Line]:
    """Each time it happened: what failed, what it said, and what then worked."""
    made: list[Line] = []
    for at, each in enumerate(occurrences):
        made += [Line()] if at else []
        mark = "▸" if at == chosen else " "
        head = line((f"{mark}{at + 1} ", "accent"), (one_line(each.agent_id), "strong"))
        head.add(f"  {ago(each.at, now)} ago" if each.at else "", "faint")
        head.hang = 3
        project = one_line(each.project).rstrip("/").rpartition("/")[2]
        head.add(f"  {project}" if project else "", "muted")
        made.append(head.add(f"  {short_source(each.source)}", "accent"))
        made.extend(_evidence_text("✗", "bad", each.failed))
        made.extend(_evidence_text(" ", "muted", each.error))
        made.extend(_evidence_text("·", "faint", step)[0] for step in each.between if step.strip())
        made.extend(_evidence_text("✓", "good", each.resolved_by))
    return made


def short_source(source: str) -> str:
    """A transcript reference as people read it: the start of the session and its lines."""
    execution, _, lines = source.partition("#")
    session = one_line(execution.rpartition(":")[2])
    return f"{session[:8]} {one_line(lines).replace('-L', '–')}"


def _evidence_text(mark: str, role: str, text: str) -> list[Line]:
    made = []
    shown = text_lines(text.strip("\n"), role if mark == " " else "text") if text.strip() else []
    for at, part in enumerate(shown[:12]):
        head = line((f"   {mark if at == 0 else ' '} ", role))
        head.hang = 5
        made.append(head.extend(part))
    if len(shown) > 12:
        made.append(line((f"     … {len(shown) - 12:,} more lines", "faint")))
    return made


def wording_lines(wording: Wording, sheet: ReviewSheet, *, draft: bool = False) -> list[Line]:
    """What it says, field by field with who wrote it; what a draft changed as removed and added."""
    made: list[Line] = []
    for name in (*FIELDS, STEPS):
        text = wording.text(name)
        if not text:
            continue
        made += [Line()] if made else []
        mark, word, role = AUTHORS.get(author_of(name, wording, sheet), ("?", "unknown", "muted"))
        head = line((TITLES[name], "strong"), ("  ", "text"), (f"{mark} {word}", role))
        made.append(head)
        before = sheet.proposed.text(name) if sheet.proposed else text
        if draft and before != text:
            made.extend(_hung(each, 4) for each in diff_lines(before, text))
        elif name == STEPS:
            made.extend(_steps(wording.steps))
        else:
            made.extend(text_lines(text))
    return made


def _hung(source: Line, by: int) -> Line:
    source.hang = by
    return source


def _steps(steps: Sequence[str]) -> list[Line]:
    made = []
    for number, step in enumerate(steps, start=1):
        first, *rest = text_lines(step)
        head = line((f"{number:>2}. ", "accent"))
        head.hang = 4
        made.append(head.extend(first))
        made.extend(line(("    ", "text")).extend(each) for each in rest)
    return made


def author_of(name: str, wording: Wording, sheet: ReviewSheet) -> str:
    """Who wrote a field of a wording: whose text it is, or else the person."""
    text = wording.text(name)
    if sheet.proposed is not None and text == sheet.proposed.text(name):
        return sheet.author(name)
    if sheet.grounded is not None and text == sheet.grounded.text(name):
        return "evidence"
    if name == STEPS and sheet.proposed and set(wording.steps) <= set(sheet.proposed.steps):
        return sheet.author(name)
    return "person"


def unified_lines(diff: Sequence[str]) -> list[Line]:
    """The lines of a unified diff, coloured by their sign."""
    made = []
    for text in diff[:_MAX_DIFF]:
        sign = text[:1]
        role = {"+": "good", "-": "bad", "@": "accent"}.get(sign, "muted")
        if text.startswith(("+++", "---")):
            role = "faint"
        shown = text.rstrip("\r\n").replace("\t", "    ")
        made.append(_hung(line((shown, role)), 1))
    if len(diff) > _MAX_DIFF:
        made.append(line((f"… {len(diff) - _MAX_DIFF:,} more lines", "faint")))
    return made


def near_lines(sheet: ReviewSheet) -> list[Line]:
    """Skills there already that say nearly the same, and what approving does to each."""
    made = []
    for each in sheet.neighbours:
        word, role = VERDICTS.get(each.verdict, (each.verdict, "muted"))
        told = bar(each.similarity, 6, "warn").add(f" {each.similarity:.2f} ", "muted")
        made.append(told.add(one_line(each.name), "strong").add(f"  {word}" if word else "", role))
        says = line(("   ", "text"), (one_line(each.says), "text"))
        says.hang = 3
        made.append(says)
    return made


def about_lines(sheet: ReviewSheet, now: datetime) -> list[Line]:
    """Where it comes from, until when it waits, and every event of its trail."""
    row = sheet.row
    made = [fact("asked by", one_line(sheet.requested_by))] if sheet.requested_by else []
    if sheet.note is not None and sheet.note.written_at is not None:
        made.append(fact("written", moment(sheet.note.written_at, now)))
    made.append(fact("since", moment(row.created_at, now)))
    if row.expires_at is not None:
        made.append(fact("expires", moment(row.expires_at, now).partition(" · ")[0]))
    if row.snoozed_until is not None and row.snoozed_until > now:
        made.append(fact("snoozed", moment(row.snoozed_until, now).partition(" · ")[0], "warn"))
    if row.decided_by:
        made.append(fact(row.status, one_line(f"by {row.decided_by}"), "strong"))
    if row.reason:
        made.append(fact("because", one_line(row.reason)))
    if sheet.agents:
        made.append(fact("copies to", one_line(", ".join(sheet.agents))))
    made.append(fact("id", row.id, "faint"))
    made.append(fact("shown", sheet.shown[:12], "faint"))
    for event in sheet.trail:
        told = fact(event.kind, one_line(event.actor), "muted")
        told.add(f"  {ago(event.at, now)}", "faint")
        made.append(told.add(f"  {one_line(event.reason)}" if event.reason else "", "text"))
    return made


def ground_lines(sheet: ReviewSheet, now: datetime, chosen: int = -1) -> list[Line]:
    """What a decision stands on: what it is, what looks dangerous, the evidence."""
    made = head_lines(sheet.row)
    if sheet.flags:
        made += [Line(), rule("Look out"), *flag_lines(sheet)]
    if sheet.occurrences:
        made += [Line(), rule("Evidence")]
        made += evidence_lines(sheet.occurrences, now, chosen)
    return made


def around_lines(sheet: ReviewSheet, now: datetime) -> list[Line]:
    """What is there already, and where the item comes from."""
    made: list[Line] = []
    if sheet.neighbours:
        made += [rule("Nearly the same"), *near_lines(sheet), Line()]
    return [*made, rule("About"), *about_lines(sheet, now)]


def whole_lines(
    sheet: ReviewSheet, now: datetime, draft: Reworded | None = None, chosen: int = -1
) -> list[Line]:
    """All of a review in one column."""
    return [
        *ground_lines(sheet, now, chosen),
        Line(),
        *([rule(KEPT)] if sheet.rewordable is not None else []),
        *kept_lines(sheet, draft),
        Line(),
        *around_lines(sheet, now),
    ]


def doubt_lines(sheet: ReviewSheet) -> list[Line]:
    """Why an approval is asked for once more: what is flagged, and what says otherwise."""
    made = flag_lines(sheet)
    for each in sheet.neighbours:
        if each.verdict == "conflict":
            told = line(("↯ ", "bad"), (one_line(each.name), "strong"))
            made.append(told.add(" says otherwise: ", "muted").add(one_line(each.says), "text"))
    return made


def changed_lines(before: ReviewSheet, after: ReviewSheet) -> list[Line]:
    """What is not as it was shown: wording, file and what would go, as removed and added lines."""
    return diff_lines(_as_text(before), _as_text(after))


def _as_text(sheet: ReviewSheet) -> str:
    said = sheet.proposed
    parts = [said.text(name) for name in (*FIELDS, STEPS)] if said else []
    parts += [sheet.note.text] if sheet.note else []
    return "\n".join([*parts, *sheet.diff, *sheet.replaces, *(flag.says for flag in sheet.flags)])


def kept_lines(sheet: ReviewSheet, draft: Reworded | None) -> list[Line]:
    """What approving would do: what would be said, what would go, the change of the file."""
    parts: list[list[Line]] = []
    if sheet.description and sheet.rewordable is None:
        parts.append(text_lines(sheet.description))
    if draft is not None:
        parts.append([line(("✎ ", "accent"), ("Your wording; not approved yet", "strong"))])
    if sheet.note is not None:
        parts.append(note_lines(sheet.note, draft if isinstance(draft, str) else None))
    wording = draft or sheet.proposed
    if isinstance(wording, Wording):
        parts.append(wording_lines(wording, sheet, draft=draft is not None))
    if sheet.replaces:
        gone = [_hung(line(("- ", "bad"), (one_line(each), "text")), 2) for each in sheet.replaces]
        parts.append([rule("Removes", counted(len(gone), "memory", "memories")), *gone])
    if sheet.path:
        parts.append(_file_lines(sheet))
    elif sheet.row.kind == "delete":
        parts.append([rule("In full"), *unified_lines(sheet.diff)])
    return [each for part in parts for each in (*part, Line())][:-1]


def note_lines(note: Note, draft: str | None = None) -> list[Line]:
    """What an agent wants kept, to the letter, with what a draft changes and what goes with it."""
    if draft is None:
        made = text_lines(note.text)
    else:
        made = [_hung(each, 4) for each in diff_lines(note.text, draft)]
    taken = ", ".join(f"{one_line(kind)} ×{times}" for kind, times in note.redactions)
    made += [Line(), fact("as", f"{note.category}, {note.sensitivity}")]
    made.append(fact("project", one_line(note.project) or "none"))
    made.append(fact("through", one_line(note.source), "muted"))
    if note.tags:
        made.append(fact("tags", " ".join(f"#{one_line(tag)}" for tag in note.tags), "muted"))
    made.append(fact("redacted", taken or "nothing", "warn" if taken else "muted"))
    return made


def _file_lines(sheet: ReviewSheet) -> list[Line]:
    where = _hung(line(("", "text"), (one_line(short_path(sheet.path)), "accent")), 2)
    if sheet.diff:
        made = [rule("Change of the file"), where, *unified_lines(sheet.diff)]
        return [*made, *_both_lines(sheet)] if sheet.ours else made
    if not sheet.text:
        return [rule("File"), where]
    body = text_lines(sheet.text.rstrip("\n"), "muted")[:_MAX_DIFF]
    return [rule("New file"), where, *body]


def _both_lines(sheet: ReviewSheet) -> list[Line]:
    """Both versions of a file that both sides changed."""
    made = []
    for title, text in (("On disk", sheet.text), ("Ours", sheet.ours)):
        body = text_lines(text.rstrip("\n"), "muted")[:_MAX_DIFF]
        made += [Line(), rule(title), *body]
    return made
