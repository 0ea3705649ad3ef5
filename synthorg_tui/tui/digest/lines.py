"""A digest's explanation as styled lines: candidates, reasons, budget, text and changes.

Pure functions of the engine's explanation, shared by the Digest and the Activity pane. Neither
pane's state belongs here, and no Textual.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from synthorg_tui.core.actors import actor_words
from synthorg_tui.memory.listing import owner_words
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, bar, beside, line, one_line, text_lines
from synthorg_tui.tui.memories.lines import category_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, OrgCandidate

VERDICTS: dict[Verdict, tuple[str, str, str]] = {
    Verdict.INCLUDED: ("✓", "in", "good"),
    Verdict.PINNED: ("★", "pinned", "accent"),
    Verdict.NOT_RELEVANT: ("○", "not relevant", "faint"),
    Verdict.BELOW_MINIMUM: ("↓", "below minimum", "muted"),
    Verdict.BEYOND_MAXIMUM: ("#", "too many", "muted"),
    Verdict.TOO_SIMILAR: ("≈", "too similar", "warn"),
    Verdict.FILTERED: ("÷", "filtered", "muted"),
    Verdict.SENSITIVE: ("▪", "sensitive", "bad"),
    Verdict.EXPIRED: ("†", "expired", "muted"),
    Verdict.SUPERSEDED: ("↻", "superseded", "muted"),
    Verdict.DELETED: ("␡", "deleted", "muted"),
    Verdict.PURGED: ("∅", "purged", "muted"),
    Verdict.ELSEWHERE: ("↗", "elsewhere", "muted"),
    Verdict.FOREIGN: ("@", "not its own", "muted"),
    Verdict.UNKNOWN: ("?", "unknown", "muted"),
    Verdict.EXCLUDED: ("✗", "excluded", "bad"),
    Verdict.OVER_BUDGET: ("┃", "over budget", "warn"),
    Verdict.HANDED: ("=", "handed before", "muted"),
    Verdict.ALIKE: ("≡", "the same", "muted"),
    Verdict.REPLACED: ("»", "in a lesson", "muted"),
}
"""Glyph, word and style role of each verdict, so that they differ in more than colour."""

_WORD = 13
_PREVIEW = 400
_RULER = 6


def is_scored(candidate: Candidate) -> bool:
    """Return whether the candidate has scores; not every strategy computes some."""
    return any(
        (
            candidate.dense,
            candidate.sparse,
            candidate.relevance,
            candidate.recency,
            candidate.combined,
        )
    )


def is_removed(candidate: Candidate) -> bool:
    """Return whether the memory is deleted or expired: nothing can be done with it here."""
    return candidate.entry.deleted_at is not None or candidate.verdict is Verdict.EXPIRED


def score_text(score: float | None) -> str:
    """Return a score in four characters; ``None`` becomes a dash."""
    if score is None:
        return "   –"
    return f"{score:4.2f}" if score < 10 else f"{score:4.1f}"


def candidate_line(candidate: Candidate, width: int) -> Line:
    """Render a candidate in one line: verdict, start of the content, score bar and tokens."""
    glyph, word, role = VERDICTS[candidate.verdict]
    left = line((f"{glyph} {word.ljust(_WORD)} ", role)).extend(_content(candidate))
    right = _score_bar(candidate) if is_scored(candidate) else Line()
    return beside(left, right.add(_tokens(candidate), "faint"), width)


def candidate_lines(candidate: Candidate, width: int) -> list[Line]:
    """Render a candidate in two lines: its content, then its verdict and its scores."""
    glyph, word, role = VERDICTS[candidate.verdict]
    left = line((f"{glyph} ", role)).extend(_content(candidate))
    second = line((f"  {word.ljust(_WORD)} ", role))
    if not is_scored(candidate):
        return [
            _head(left, candidate, width),
            second.add(one_line(candidate.reason), "muted").fit(width),
        ]
    second.extend(_score_bar(candidate))
    if candidate.seen:
        return [_head(left, candidate, width), second.add(f"  {candidate.seen}", "strong")]
    for name, score in (("relevance", candidate.relevance), ("recency", candidate.recency)):
        second.add(f"  {name} ", "faint").add(score_text(score or None).strip(), "muted")
    if candidate.similar_to is not None:
        second.add(f"  ≈ {candidate.similarity:.2f}", "warn")
    return [_head(left, candidate, width), second]


def _head(left: Line, candidate: Candidate, width: int) -> Line:
    return beside(left, line((_tokens(candidate), "faint")), width)


def _tokens(candidate: Candidate) -> str:
    return f"{candidate.tokens:>5}t" if candidate.tokens else "     –"


def _content(candidate: Candidate) -> Line:
    category, role = category_mark(candidate.entry.category)
    content = line((category + " ", role), ("shared " if candidate.is_shared else "", "accent"))
    if candidate.members:
        content.add(f"×{len(candidate.members) + 1} ", "strong")
    return content.add(
        one_line(candidate.entry.content[:_PREVIEW]), "text" if candidate.verdict.is_in else "muted"
    )


def _score_bar(candidate: Candidate) -> Line:
    scores = bar(candidate.combined, 6, "accent" if candidate.verdict.is_in else "faint")
    return scores.add(f" {score_text(candidate.combined or None)}", "muted")


def policies_lines(answer: Explanation, width: int) -> list[Line]:
    """Render the row on the policies that stand first: how many, their size, how they begin."""
    told = [each for each in answer.policies if each.verdict.is_in]
    handed = [each for each in answer.policies if each.verdict is Verdict.HANDED]
    glyph, _, role = VERDICTS[Verdict.HANDED if handed else Verdict.INCLUDED]
    head = line((f"{glyph if handed or told else '┃'} ", role if handed or told else "warn"))
    count = counted(len(told or handed), "policy", "policies")
    head.add(f"{count}{' handed before' if handed else ' first'}", "strong")
    rest = len(answer.policies) - len(told) - len(handed)
    head.add(f" · {rest} without room" if rest else "", "warn")
    tokens = f"{answer.policy_tokens:>5}t" if answer.policy_tokens else "     –"
    words = line(("  ", "text"))
    words.add(" · ".join(one_line(each.content[:_PREVIEW]) for each in (told or handed)), "muted")
    return [beside(head, line((tokens, "faint")), width), words.fit(width)]


def fact_lines(fact: OrgCandidate, width: int) -> list[Line]:
    """Render a fact of the organisation: its content, then its verdict and why."""
    glyph, word, role = VERDICTS[fact.verdict]
    left = line((f"{glyph} ", role), (fact.category.replace("_", " ") + " ", "accent"))
    left.add(one_line(fact.content[:_PREVIEW]), "text" if fact.verdict.is_in else "muted")
    tokens = f"{fact.tokens:>5}t" if fact.tokens else "     –"
    second = line((f"  {word.ljust(_WORD)} ", role), (one_line(fact.reason), "muted"))
    return [beside(left, line((tokens, "faint")), width), second.fit(width)]


def cut_line(answer: Explanation, width: int) -> Line:
    """Render the line between the candidates in the digest and those left out."""
    head = line(("── ", "track"))
    spent = f"{answer.tokens_used:,} of {answer.token_budget:,} tokens"
    head.add(f"budget ends here · {spent} ", "muted")
    return head.add("─" * max(width - head.width, 0), "track")


def former_line(answer: Explanation, width: int) -> Line:
    """Render the line between the candidates and the memories that aren't given any more."""
    fit = "fits" if len(answer.former) == 1 else "fit"
    head = line(("── ", "track"))
    head.add(f"no longer given · {counted(len(answer.former), 'other')} {fit} by words ", "muted")
    return head.add("─" * max(width - head.width, 0), "track")


def why_lines(candidate: Candidate, candidates: Sequence[Candidate], *, full: bool) -> list[Line]:
    """Render why the candidate is in the digest or not, then its scores.

    With ``full`` each score has a line of its own.
    """
    glyph, word, role = VERDICTS[candidate.verdict]
    head = line((f"{glyph} ", role))
    if not candidate.reason.startswith(word):
        head.add(word, role).add(" · ", "faint")
    head.add(candidate.reason, "text")
    head.hang = 2
    if not full:
        return [head, *_cluster(candidate), _numbers(candidate)]
    lines = [head, *_cluster(candidate), Line()]
    lines += _scores(candidate) if is_scored(candidate) else ()
    if candidate.beside is not None:
        lines.append(_lent(candidate, candidates))
    lines.append(_label("rank").add(_place(candidate), "text"))
    if candidate.similar_to is not None:
        other = next((c for c in candidates if c.entry.id == candidate.similar_to), None)
        like = _label("similar").add(f"{candidate.similarity:.2f} to ", "warn")
        shown = one_line(other.entry.content[:_PREVIEW]) if other else candidate.similar_to
        lines.append(like.add(shown, "text"))
    lines.append(_label("agent").add(one_line(owner_words(candidate.entry.agent_id)), "text"))
    if candidate.author:
        lines.append(_label("written by").add(one_line(actor_words(candidate.author)), "text"))
    lines.append(_label("id").add(candidate.entry.id, "faint"))
    return lines


def _cluster(candidate: Candidate) -> list[Line]:
    """How often it was seen where it stands for others, and the key that lists them."""
    if not candidate.members:
        return []
    others = counted(len(candidate.members), "other")
    shown = line(("  ", "text"), (candidate.seen or f"stands for {others}", "strong"))
    return [shown.add(f" · {key_of('digest.group')} lists the {others}", "muted")]


def _lent(candidate: Candidate, candidates: Sequence[Candidate]) -> Line:
    """What the hit beside it in its session lent to its score."""
    hit = next((each for each in candidates if each.entry.id == candidate.beside), None)
    shown = one_line(hit.entry.content[:_PREVIEW]) if hit else candidate.beside or ""
    lent = _label("lent").add(f"{candidate.lent:.2f} of the score by what is beside it: ", "good")
    return lent.add(shown, "text")


def _scores(candidate: Candidate) -> list[Line]:
    lines = []
    for label, score, score_role in (
        ("score", candidate.combined or None, "accent"),
        ("relevance", candidate.relevance or None, "good"),
        ("recency", candidate.recency or None, "warn"),
        ("meaning", candidate.dense, "good"),
    ):
        fact = _label(label)
        if score is None:
            why = "not found by it" if label == "meaning" else "–"
            lines.append(fact.add(why, "faint"))
        else:
            lines.append(fact.extend(bar(score, 16, score_role)).add(f" {score:.2f}", "muted"))
    words = "not found by them" if candidate.sparse is None else f"{candidate.sparse:.2f}"
    lines.append(_label("words").add(words, "faint" if candidate.sparse is None else "text"))
    return lines


_LABEL = 11


def _label(text: str) -> Line:
    label = line((text.ljust(_LABEL), "muted"))
    label.hang = _LABEL
    return label


def _place(candidate: Candidate) -> str:
    rank = f"{candidate.rank}" if candidate.rank else "not ranked"
    bonus = f" · bonus +{candidate.boost:.2f}" if candidate.boost else ""
    tokens = f" · {counted(candidate.tokens, 'token')} with its frame" if candidate.tokens else ""
    return rank + bonus + tokens


def _numbers(candidate: Candidate) -> Line:
    numbers = line(("  ", "text"))
    if not is_scored(candidate):
        return numbers.add(_place(candidate), "muted")
    parts = [
        ("score", candidate.combined or None),
        ("meaning", candidate.dense),
        ("words", candidate.sparse),
    ]
    for name, score in [*parts, ("recency", candidate.recency or None)]:
        numbers.add(f"{name} ", "faint").add(f"{score_text(score).strip()}  ", "muted")
    numbers.add(f"rank {candidate.rank}  " if candidate.rank else "", "muted")
    return numbers.add(f"{candidate.tokens} tokens", "muted")


def budget_line(answer: Explanation, width: int) -> Line:
    """Render the token budget as a bar: frame, policies, memories, the rest, what didn't fit."""
    over = over_budget(answer)
    over_tokens = sum(candidate.tokens for candidate in over)
    tail = budget_caption(answer)
    room = max(width - tail.width - 3, 10)
    whole = max(answer.token_budget, answer.tokens_used) + over_tokens
    if whole <= 0:
        return line((" ", "text")).extend(tail)
    cut = room - min(round(room * over_tokens / whole), room // 2) if over else room
    scale = cut / max(answer.token_budget, answer.tokens_used, 1)
    shown = line((" ", "text"))
    used, drawn = 0, 0
    for part, role in _before_memories(answer):
        used += part
        until = min(round(used * scale), cut)
        shown.add("━" * (until - drawn), role)
        drawn = until
    for at, candidate in enumerate(answer.included):
        used += candidate.tokens
        until = min(round(min(used, answer.tokens_used) * scale), cut)
        shown.add("━" * (until - drawn), "accent" if at % 2 == 0 else "good")
        drawn = max(until, drawn)
    rest = min(round(answer.tokens_used * scale), cut)
    shown.add("━" * (rest - drawn), "faint")
    shown.add("─" * (cut - max(rest, drawn)), "track").add("┃", "strong")
    shown.add("╌" * (room - cut), "warn")
    return shown.add(" ", "text").extend(tail)


def _before_memories(answer: Explanation) -> tuple[tuple[int, str], ...]:
    """What takes tokens before the memories do, and how the bar draws it."""
    return (
        (answer.frame_tokens, "faint"),
        (answer.policy_tokens, "strong"),
        (answer.fact_tokens, "title"),
    )


def over_budget(answer: Explanation) -> tuple[Candidate, ...]:
    """Return the relevant memories that don't fit into the budget."""
    return tuple(
        candidate for candidate in answer.candidates if candidate.verdict is Verdict.OVER_BUDGET
    )


def budget_caption(answer: Explanation) -> Line:
    """Render the tokens used, the budget, and the memories that didn't fit."""
    used, budget = answer.tokens_used, answer.token_budget
    caption = line((f"{used:,}", "strong"), (f" of {budget:,}", "muted"))
    frame = answer.frame_tokens
    parts = [f"{frame:,} of them frame"] if frame else []
    for tokens, what in ((answer.policy_tokens, "policies"), (answer.fact_tokens, "facts")):
        parts += [f"{tokens:,} {what}"] if tokens else []
    caption.add(f", {', '.join(parts)}" if parts else " tokens", "muted")
    over = over_budget(answer)
    if over:
        caption.add(f" · {len(over)} over budget", "warn")
    return caption


def tally(answer: Explanation) -> str:
    """Return the numbers of candidates in the digest and left out, as text."""
    return f"{len(answer.included)} in · {len(answer.left_out)} out"


def former_tally(answer: Explanation) -> str:
    """Return the number of memories that aren't given any more, to append; empty when none."""
    return f" · {len(answer.former)} no longer given" if answer.former else ""


def ruled_text(text: str, tokens: int) -> list[Line]:
    """Render the text; each line begins with about how many of its tokens precede the line."""
    if not text:
        return []
    shown = text_lines(text)
    starts = _line_starts(text)
    lines = []
    for start, body in zip(starts, shown, strict=True):
        before = tokens * start // len(text)
        head = line((f"{before:>{_RULER - 1},} ", "faint"), ("│ ", "track"))
        head.hang = _RULER + 2
        role = "muted" if body.plain.lstrip().startswith("<") else "text"
        lines.append(head.add(body.plain, role))
    return lines


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for at, character in enumerate(text):
        if character == "\n":
            starts.append(at + 1)
    return starts


def changed_text(before: str, after: str) -> list[Line]:
    """Render a text with its changes: deleted lines with ``-``, new ones with ``+``.

    Unchanged lines are dimmed.
    """
    import difflib

    old, new = before.split("\n"), after.split("\n")
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=old, b=new).get_opcodes():
        if tag == "equal":
            lines.extend(_diff_line(" ", part, "faint") for part in new[j1:j2])
            continue
        lines.extend(_diff_line("-", part, "bad") for part in old[i1:i2])
        lines.extend(_diff_line("+", part, "good") for part in new[j1:j2])
    return lines


def change_places(lines: Sequence[Line]) -> list[int]:
    """Return where each run of changed lines begins in what ``changed_text`` returned."""
    signs = [shown.plain[:1] for shown in lines]
    return [
        at
        for at, sign in enumerate(signs)
        if sign in ("-", "+") and (at == 0 or signs[at - 1] not in ("-", "+"))
    ]


def _diff_line(sign: str, part: str, role: str) -> Line:
    changed = line((f"{sign} ", role), (part, role))
    changed.hang = 2
    return changed


def change_caption(before: str, after: str) -> str:
    """Return the numbers of deleted and added lines as text.

    Lines are only counted, not aligned, since this runs at every key press.
    """
    old, new = Counter(before.split("\n")), Counter(after.split("\n"))
    deleted, added = (old - new).total(), (new - old).total()
    return f"-{deleted} +{added} lines" if before != after else "no change"


def stage_line(answer: Explanation) -> Line:
    """Render the duration of each stage of the retrieval."""
    shown = Line()
    for stage in answer.stages:
        shown.add(f"{stage.name} ", "faint").add(f"{stage.milliseconds:.1f} ms  ", "muted")
    return shown
