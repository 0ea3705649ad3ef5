"""The notices of the Digest pane: question, status, warnings, and texts in place of an answer.

Pure functions of the pane's state; no Textual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, error_lines, keys_line, line, one_line
from synthorg_tui.tui.digest.lines import (
    change_caption,
    changed_text,
    over_budget,
    ruled_text,
    tally,
)
from synthorg_tui.tui.digest.options import (
    NO_PROJECT,
    NO_SESSION,
    PROJECT,
    SESSION,
    Options,
    options_summary,
    shown_value,
)

if TYPE_CHECKING:
    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.tui.digest.state import Digest

MAX_PLACE = 24
TEXT_TITLE = "What the agent reads"


def question_line(digest: Digest) -> Line:
    """Render the question's agent, token budget and options."""
    asking = line((f" {key_of('digest.agent')} ", "accent"), ("as ", "muted"))
    asking.add(one_line(digest.agent_id) or "nobody yet", "strong")
    asking.extend(place(digest.options))
    asking.add(f"  {key_of('digest.budget')} ", "accent")
    asking.add(f"{counted(digest.budget, 'token')}", "strong")
    asking.add(f"  {key_of('digest.options')} ", "accent")
    asking.extend(options_summary(digest.options))
    for count, word in ((len(digest.pinned), "pinned"), (len(digest.excluded), "excluded")):
        asking.add(f" · {count} {word}" if count else "", "warn")
    return asking


def place(options: Options) -> Line:
    """Render where the agent works, if it is known; a dot marks another place than usual."""
    where = Line()
    for name in (PROJECT, SESSION):
        if name not in options or options.value(name) == NO_SESSION:
            continue
        if options.value(name) == NO_PROJECT and not options.is_changed(name):
            continue  # an agent without projects: there is nothing to tell
        role = "warn" if options.is_changed(name) else "strong"
        where.add(" in " if name == PROJECT else ", session ", "muted")
        where.add("•" if options.is_changed(name) else "", "warn")
        where.add(shown_value(name, options.value(name))[:MAX_PLACE], role)
    return where


def banner_lines(digest: Digest) -> list[Line]:
    """Render what is out of the ordinary: what failed, own settings, what doesn't fit."""
    answer = digest.answer
    if answer is None:
        return []
    lines = []
    if digest.elsewhere and not digest.options.is_changed(PROJECT):
        told = line(("• ", "accent"), (one_line(digest.elsewhere), "muted"))
        told.add(f"  {key_of('digest.options')} ", "accent")
        lines.append(told.add("changes it", "muted"))
    if answer.degraded:
        lines.append(line(("! ", "bad"), ("degraded: ", "warn"), (answer.degraded, "warn")))
    untold = sum(each.verdict is Verdict.OVER_BUDGET for each in answer.policies)
    if untold:
        count = counted(untold, "policy", "policies")
        warning = line(("! ", "bad"), (f"{count} without room: ", "warn"))
        lines.append(warning.add("org_memory.policy_tokens bounds them", "text"))
    if answer.own_settings:
        own = one_line(", ".join(answer.own_settings))
        lines.append(line(("• ", "accent"), ("settings of its own: ", "muted"), (own, "text")))
    over = over_budget(answer)
    if over:
        lacking = sum(candidate.tokens for candidate in over)
        warning = line(("! ", "bad"), (f"{memories(len(over))} over budget: ", "warn"))
        if lacking:
            warning.add(f"{lacking:,} tokens more would hold all of them", "text")
            warning.add(f"  {key_of('digest.more')} ", "accent").add("raises it", "muted")
        else:
            warning.add(one_line(over[0].reason), "text")
        lines.append(warning)
    return lines


def status(digest: Digest, agents: int, *, is_slow: bool) -> str:
    """Return the status for the header.

    ``agents`` is the number of agents; ``is_slow`` says that the answer takes long.
    """
    if digest.waiting and is_slow:
        return "asking …"
    if digest.answer is None:
        return counted(agents, "agent")
    taken = sum(stage.milliseconds for stage in digest.answer.stages)
    return f"{tally(digest.answer)} · {taken:.0f} ms"


def agent_text(digest: Digest, *, diffing: bool) -> tuple[str, str, list[Line]]:
    """Return the text the agent would read, or its changes with ``diffing``.

    The result is the title above it, the one below it, and the lines.
    """
    answer, before = digest.answer, digest.before
    if answer is None or before is None:
        return TEXT_TITLE, "", []
    changes = change_caption(before.text, answer.text) if digest.text_changed else ""
    if diffing:
        lines = changed_text(before.text, answer.text)
        return "Changes in what the agent reads", changes or "no change", lines
    size = size_caption(digest)
    lines = ruled_text(answer.text, digest.text_tokens) or text_placeholder(digest)
    shows = f"{changes} · {key_of('digest.diff')} shows · "
    return TEXT_TITLE, shows + size if changes else size, lines


def size_caption(digest: Digest) -> str:
    """Return the tokens of the whole text, and how they come about if memories are in it.

    The memories, with the frame that the budget counts, are measured against the budget; what is
    around them comes on top.
    """
    answer, whole = digest.answer, digest.text_tokens
    if answer is not None and answer.policy_tokens:
        return f"{counted(whole, 'token')}, {answer.policy_tokens:,} of them policies"
    if answer is None or not 0 < answer.tokens_used <= whole:
        return counted(whole, "token")
    used, around = answer.tokens_used, whole - answer.tokens_used
    memories_share = f"{used:,} of {answer.token_budget:,} for memories"
    return f"{memories_share} + {around:,} around them = {whole:,}" if around else memories_share


def text_placeholder(digest: Digest) -> list[Line]:
    """Render the text shown if the agent would be given nothing."""
    answer = digest.answer
    if answer is None or answer.text:
        return []
    lines = [line(("The agent reads nothing here.", "muted"))]
    if answer.candidates:
        considered = f"{memories(len(answer.candidates))} considered, none is given."
        lines.append(line((considered, "muted")))
    if digest.tools:
        lines.append(
            line(("It gets tools instead: ", "muted"), (", ".join(digest.tools), "accent"))
        )
    return lines


def empty_lines(digest: Digest, agents: int) -> list[Line]:
    """Render why there are no candidates, and what the person can do next."""
    if not agents:
        return [
            line(("No agent has memories yet", "title")),
            Line(),
            line(("They come from the sessions of your coding agents.", "text")),
            keys_line(
                (key_of("app.memories"), "then"),
                (key_of("memories.importing"), "imports sessions"),
            ),
        ]
    if not digest.query.strip():
        return [
            line(("What would an agent be given?", "title")),
            Line(),
            line(("Type what it is about to do, and read exactly what it would read.", "text")),
            keys_line(
                (key_of("digest.task"), "writes the task"),
                (key_of("digest.agent"), "chooses the agent"),
                (key_of("digest.scenarios"), "opens scenarios"),
            ),
        ]
    if digest.answer is not None and digest.tools:
        return [
            line(("No memory is injected", "title")),
            Line(),
            line(("The agent asks with its tools.", "text")),
        ]
    return [
        line(("Nothing relevant", "title")),
        Line(),
        line((_no_memory(digest), "text")),
        keys_line(
            (key_of("digest.task"), "changes the task"),
            (key_of("digest.options"), "changes the options"),
        ),
    ]


def _no_memory(digest: Digest) -> str:
    told = sum(each.verdict.is_in for each in digest.answer.policies) if digest.answer else 0
    besides = f", only {counted(told, 'policy', 'policies')}" if told else ""
    return f"{one_line(digest.agent_id)} would be given no memory for this task{besides}."


def failure_lines(error: DomainError) -> list[Line]:
    """Render an error's message and its remedy."""
    return error_lines(
        "The digest can't be made",
        error,
        keys_line(
            (key_of("digest.reload"), "tries again"), (key_of("digest.reset"), "resets the options")
        ),
    )
