"""The Digest pane as lines: the budget, the candidates, why, the text with its ruler, changes."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, beside, line, one_line, text_lines
from synthorg_tui.tui.digest.ports import Answer, Weighed
from synthorg_tui.tui.digest.state import Digest
from synthorg_tui.tui.memories.lines import bar, category_mark

VERDICTS = {
    "included": ("✓", "in", "good"),
    "pinned": ("★", "pinned", "accent"),
    "not_relevant": ("○", "not relevant", "faint"),
    "below_minimum": ("↓", "below least", "muted"),
    "beyond_maximum": ("#", "too many", "muted"),
    "too_similar": ("≈", "too similar", "warn"),
    "filtered": ("÷", "filtered", "muted"),
    "sensitive": ("▪", "sensitive", "bad"),
    "expired": ("†", "expired", "muted"),
    "superseded": ("↻", "superseded", "muted"),
    "excluded": ("✗", "excluded", "bad"),
    "over_budget": ("┃", "over budget", "warn"),
}
"""Glyph, word and role of each verdict: the colour is never the only sign."""

_WORD = 12
_PREVIEW = 400
_RULER = 6
CUT = "cut"


def verdict_mark(verdict: str) -> tuple[str, str, str]:
    """Glyph, word and role, also of a verdict this list doesn't know."""
    return VERDICTS.get(verdict, ("?", verdict.replace("_", " "), "muted"))


def score_text(score: float | None) -> str:
    """A score in four cells."""
    if score is None:
        return "   –"
    return f"{score:4.2f}" if score < 10 else f"{score:4.1f}"


def weighed_line(each: Weighed, width: int) -> Line:
    """A candidate on one line: verdict, start of the content, score bar and tokens."""
    glyph, word, role = verdict_mark(each.verdict)
    left = line((f"{glyph} {word.ljust(_WORD)} ", role)).extend(_content(each))
    right = _score_bar(each) if each.is_scored else Line()
    return beside(left, right.add(_tokens(each), "faint"), width)


def weighed_lines(each: Weighed, width: int) -> list[Line]:
    """A candidate on two lines: what it says, then verdict and what the score is made of."""
    glyph, word, role = verdict_mark(each.verdict)
    left = line((f"{glyph} ", role)).extend(_content(each))
    second = line((f"  {word.ljust(_WORD)} ", role))
    if not each.is_scored:
        return [_head(left, each, width), second.add(one_line(each.reason), "muted").fit(width)]
    second.extend(_score_bar(each))
    second.add("  relevance ", "faint").add(f"{each.relevance:.2f}", "muted")
    second.add("  recency ", "faint").add(f"{each.recency:.2f}", "muted")
    if each.similar_to is not None:
        second.add(f"  ≈ {each.similarity:.2f}", "warn")
    return [_head(left, each, width), second]


def _head(left: Line, each: Weighed, width: int) -> Line:
    return beside(left, line((_tokens(each), "faint")), width)


def _tokens(each: Weighed) -> str:
    return f"{each.tokens:>5}t" if each.tokens else "     –"


def _content(each: Weighed) -> Line:
    category, role = category_mark(each.row.category)
    made = line((category + " ", role), ("shared " if each.is_shared else "", "accent"))
    return made.add(one_line(each.row.content[:_PREVIEW]), "text" if each.is_in else "muted")


def _score_bar(each: Weighed) -> Line:
    made = bar(each.combined, 6, "accent" if each.is_in else "faint")
    return made.add(f" {score_text(each.combined)}", "muted")


def cut_line(answer: Answer, width: int) -> Line:
    """The line between what is in and what is out."""
    head = line(("── ", "track"))
    head.add(f"cut · {answer.tokens_used:,} of {answer.token_budget:,} tokens ", "muted")
    return head.add("─" * max(width - head.width, 0), "track")


def why_lines(each: Weighed, candidates: Sequence[Weighed], *, full: bool) -> list[Line]:
    """Why the candidate is in or out, then every number; ``full`` gives each score a line."""
    glyph, word, role = verdict_mark(each.verdict)
    head = line((f"{glyph} {word}", role), (" · ", "faint"), (each.reason, "text"))
    head.hang = 2
    if not full:
        return [head, _numbers(each)]
    made = [head, Line(), *(_scores(each) if each.is_scored else ())]
    made.append(_label("rank").add(_place(each), "text"))
    if each.similar_to is not None:
        other = next((c for c in candidates if c.row.id == each.similar_to), None)
        like = _label("similar").add(f"{each.similarity:.2f} to ", "warn")
        shown = one_line(other.row.content[:_PREVIEW]) if other else each.similar_to
        made.append(like.add(shown, "text"))
    made.append(_label("agent").add(one_line(each.row.agent_id), "text"))
    made.append(_label("id").add(each.row.id, "faint"))
    return made


def _scores(each: Weighed) -> list[Line]:
    made = []
    for label, score, score_role in (
        ("combined", each.combined, "accent"),
        ("relevance", each.relevance, "good"),
        ("recency", each.recency, "warn"),
        ("dense", each.dense, "good"),
    ):
        fact = _label(label)
        if score is None:
            made.append(fact.add("not found by this index", "faint"))
        else:
            made.append(fact.extend(bar(score, 16, score_role)).add(f" {score:.2f}", "muted"))
    sparse = "not found by this index" if each.sparse is None else f"{each.sparse:.2f} BM25"
    made.append(_label("sparse").add(sparse, "faint" if each.sparse is None else "text"))
    return made


_LABEL = 11


def _label(text: str) -> Line:
    made = line((text.ljust(_LABEL), "muted"))
    made.hang = _LABEL
    return made


def _place(each: Weighed) -> str:
    rank = f"{each.rank}" if each.rank else "not ranked"
    boost = f" · boost +{each.boost:.2f}" if each.boost else ""
    tokens = f" · {counted(each.tokens, 'token')} with the fence" if each.tokens else ""
    return rank + boost + tokens


def _numbers(each: Weighed) -> Line:
    made = line(("  ", "text"))
    if not each.is_scored:
        return made.add(_place(each), "muted")
    parts = [("combined", each.combined), ("dense", each.dense), ("sparse", each.sparse)]
    for name, score in [*parts, ("recency", each.recency)]:
        made.add(f"{name} ", "faint").add(f"{score_text(score).strip()}  ", "muted")
    made.add(f"rank {each.rank}  " if each.rank else "", "muted")
    return made.add(f"{each.tokens} tokens", "muted")


def budget_line(answer: Answer, width: int) -> Line:
    """A bar of the budget: memories in turns of two shades, the cut line, what didn't fit."""
    over = tuple(each for each in answer.candidates if each.verdict == "over_budget")
    over_tokens = sum(each.tokens for each in over)
    tail = budget_caption(answer)
    room = max(width - tail.width - 3, 10)
    whole = max(answer.token_budget, answer.tokens_used) + over_tokens
    if whole <= 0:
        return line((" ", "text")).extend(tail)
    cut = room - min(round(room * over_tokens / whole), room // 2) if over else room
    scale = cut / max(answer.token_budget, answer.tokens_used, 1)
    made = line((" ", "text"))
    drawn = 0
    used = 0
    for at, each in enumerate(answer.included):
        used += each.tokens
        until = min(round(min(used, answer.tokens_used) * scale), cut)
        made.add("━" * (until - drawn), "accent" if at % 2 == 0 else "good")
        drawn = max(until, drawn)
    rest = min(round(answer.tokens_used * scale), cut)
    made.add("━" * (rest - drawn), "faint")
    made.add("─" * (cut - max(rest, drawn)), "track").add("┃", "strong")
    made.add("╌" * (room - cut), "warn")
    return made.add(" ", "text").extend(tail)


def budget_caption(answer: Answer) -> Line:
    """What is used of what there is, and what didn't fit."""
    used, budget = answer.tokens_used, answer.token_budget
    made = line((f"{used:,}", "strong"), (f" of {budget:,} tokens", "muted"))
    over = tuple(each for each in answer.candidates if each.verdict == "over_budget")
    if over:
        made.add(f" · {len(over)} didn't fit", "warn")
    return made


def tally(answer: Answer) -> str:
    """How many are in and out."""
    return f"{len(answer.included)} in · {len(answer.left_out)} out"


def ruled_text(text: str, tokens: int) -> list[Line]:
    """The text line by line; at the left, about how many of its tokens come before the line."""
    if not text:
        return []
    shown = text_lines(text)
    starts = _line_starts(text)
    made = []
    for start, body in zip(starts, shown, strict=True):
        before = tokens * start // len(text)
        head = line((f"{before:>{_RULER - 1},} ", "faint"), ("│ ", "track"))
        head.hang = _RULER + 2
        role = "muted" if body.plain.lstrip().startswith("<") else "text"
        made.append(head.add(body.plain, role))
    return made


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for at, character in enumerate(text):
        if character == "\n":
            starts.append(at + 1)
    return starts


def changed_text(before: str, after: str) -> list[Line]:
    """The text with its changes: gone lines with ``-``, new ones with ``+``, the rest faint."""
    import difflib

    old, new = before.split("\n"), after.split("\n")
    made: list[Line] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=old, b=new).get_opcodes():
        if tag == "equal":
            made.extend(_diff_line(" ", part, "faint") for part in new[j1:j2])
            continue
        made.extend(_diff_line("-", part, "bad") for part in old[i1:i2])
        made.extend(_diff_line("+", part, "good") for part in new[j1:j2])
    return made


def _diff_line(sign: str, part: str, role: str) -> Line:
    made = line((f"{sign} ", role), (part, role))
    made.hang = 2
    return made


def change_caption(before: str, after: str) -> str:
    """How many lines went and came; counted, not aligned, as it is told at every key."""
    old, new = Counter(before.split("\n")), Counter(after.split("\n"))
    gone, came = (old - new).total(), (new - old).total()
    return f"-{gone} +{came} lines" if before != after else "no change"


def banner_lines(digest: Digest) -> list[Line]:
    """What is not as it should be: something missing, or relevant memories that don't fit."""
    answer = digest.answer
    if answer is None:
        return []
    made = []
    if answer.degraded:
        made.append(line(("! ", "bad"), ("degraded: ", "warn"), (answer.degraded, "warn")))
    over = tuple(each for each in answer.candidates if each.verdict == "over_budget")
    if over:
        lacking = sum(each.tokens for each in over)
        told = line(("! ", "bad"), (f"{memories(len(over))} over budget: ", "warn"))
        if lacking:
            told.add(f"{lacking:,} tokens more would hold all of them", "text")
            told.add("  + ", "accent").add("raises it", "muted")
        else:
            told.add(one_line(over[0].reason), "text")
        made.append(told)
    return made


def text_placeholder(digest: Digest) -> list[Line]:
    """What stands in place of the text when the agent would read nothing."""
    answer = digest.answer
    if answer is None or answer.text:
        return []
    made = [line(("The agent reads nothing here.", "muted"))]
    if answer.candidates:
        told = f"{memories(len(answer.candidates))} considered, none is given."
        made.append(line((told, "muted")))
    if answer.tools:
        made.append(line(("It gets tools instead: ", "muted"), (", ".join(answer.tools), "accent")))
    return made


def empty_digest(digest: Digest, agents: int) -> list[Line]:
    """Why there are no candidates, and the next step."""
    if not agents:
        return [
            line(("No agent has memories yet", "title")),
            Line(),
            line(("They come from the sessions of your coding agents.", "text")),
            _keys(("1", "then"), ("i", "imports sessions")),
        ]
    if not digest.query.strip():
        return [
            line(("What would an agent be given?", "title")),
            Line(),
            line(("Type what it is about to do, and read exactly what it would read.", "text")),
            _keys(("/", "writes the task"), ("a", "chooses the agent"), ("S", "opens scenarios")),
        ]
    if digest.answer is not None and digest.answer.tools and not digest.answer.text:
        return [
            line(("No memory is injected", "title")),
            Line(),
            line(("The agent asks with its tools.", "text")),
        ]
    return [
        line(("Nothing relevant", "title")),
        Line(),
        line((f"{one_line(digest.agent_id)} would be given no memory for this task.", "text")),
        _keys(("/", "changes the task"), ("o", "changes the options")),
    ]


def _keys(*pairs: tuple[str, str]) -> Line:
    made = Line()
    for (key, does), _ in pairwise([*pairs, ("", "")]):
        made.add(key, "accent").add(f" {does}   ", "muted")
    return made


def digest_error(message: str, remedy: str) -> list[Line]:
    """What went wrong and what to do."""
    made = [line(("✗ ", "bad"), ("The digest can't be made", "strong")), Line()]
    made.append(line((message, "text")))
    if remedy:
        made += [Line(), line(("→ ", "accent"), (remedy, "text"))]
    return [*made, Line(), _keys(("r", "tries again"), ("R", "resets the options"))]


def stage_line(answer: Answer) -> Line:
    """How long each stage took."""
    made = Line()
    for name, taken in answer.stages:
        made.add(f"{name} ", "faint").add(f"{taken:.1f} ms  ", "muted")
    return made
