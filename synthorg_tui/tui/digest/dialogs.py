"""The dialogs of the Digest pane: agent, budget, a scenario's name, what a line stands for."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import PromptDialog
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, beside, line, one_line
from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.digest.state import read_budget
from synthorg_tui.tui.memories.lines import choice_lines

if TYPE_CHECKING:
    from synthorg_tui.memory.retrieval.explanation import Candidate
    from synthorg_tui.memory.scenarios import Question
    from synthorg_tui.tui.base.pane import Pane


def budget_dialog(budget: int, take: Callable[[int], None]) -> PromptDialog:
    """Return a dialog for the token budget; an invalid number is refused.

    ``take`` is called with the budget.
    """
    hint = "try 800 or 2k"

    async def save(text: str) -> str:
        tokens = read_budget(text)
        if tokens is None:
            raise DomainError(f'"{text}" isn\'t a number;', remedy=hint)
        take(tokens)
        return text

    return PromptDialog("Token budget", str(budget), hint=hint, save=save)


def scenario_dialog(digests: EngineDigests, question: "Question") -> PromptDialog:
    """Ask for the name to save a question under; gives what was saved, in a line."""

    async def save(name: str) -> str:
        scenario = await digests.save_scenario(name, question)
        expected = counted(len(scenario.expected), "memory", "memories")
        return f"Saved {name}: {expected} expected · {key_of('digest.scenarios')} runs all"

    suggested = " ".join(question.query.split()[:5])
    hint = "the same name replaces"
    return PromptDialog("Save as scenario", suggested, hint=hint, save=save)


async def list_members(
    pane: "Pane",
    digests: EngineDigests,
    candidate: "Candidate",
    show: Callable[[ListedMemory], None],
) -> None:
    """List what a candidate stands for; ``show`` is called with the memory that is chosen."""
    rows = await digests.memories(candidate.members)
    make = partial(choice_lines, rows, pane.now())

    def chosen(row: object) -> None:
        if isinstance(row, ListedMemory):
            show(row)

    title = f"The same, {candidate.seen}" if candidate.seen else "The same"
    pane.app.push_screen(ChoiceDialog(title, "↵ shows it in Memories · esc leaves", make), chosen)


class AgentDialog(ChoiceDialog):
    """A dialog with all agents and their numbers of memories.

    Returns the chosen one, or ``None``.
    """

    def __init__(self, agents: Sequence[tuple[str, int]], chosen: str) -> None:
        super().__init__(
            "As which agent",
            "↵ chooses · esc leaves",
            self._lines,
            chosen=chosen,
            empty="No agent has memories yet.",
        )
        self._agents = agents

    def _lines(self, width: int) -> list[tuple[object, Line]]:
        lines: list[tuple[object, Line]] = []
        for agent_id, count in self._agents:
            left = line(("▸ " if agent_id == self._chosen else "  ", "accent"))
            left.add(one_line(agent_id), "text")
            lines.append((agent_id, beside(left, line((memories(count), "muted")), width)))
        return lines
