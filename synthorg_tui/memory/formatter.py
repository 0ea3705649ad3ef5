"""Turns ranked memories into messages that fit a token budget.

Each memory stands in a fence of its own, and a directive says that what stands in such fences is
data: whoever plants a memory can't speak as the system.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.enums import InjectionPoint
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

TAG_MEMORY_ENTRY: Final = "memory-entry"
WHOLE_BY: Final = "whole: recall_memory"
"""Tells an agent how to read what an excerpt leaves out; the memory's id follows."""
_SEPARATOR: Final = "\n"
_PARAGRAPH: Final = "\n\n"
DIRECTIVE: Final = untrusted_content_directive((TAG_MEMORY_ENTRY,))
"""Stands before the memories, and says that they are data."""
_ROLES: Final = {
    InjectionPoint.SYSTEM: MessageRole.SYSTEM,
    InjectionPoint.USER: MessageRole.USER,
}


class MemoryWording(NamedTuple):
    """How a memory is told to an agent.

    ``text`` is its content or an excerpt of it, ``whole`` the id by which the agent can read the
    rest, empty where nothing is missing. ``seen`` says how often the same was seen; empty for once.
    """

    text: str
    whole: str = ""
    seen: str = ""


class PackedMemory(NamedTuple):
    """A memory formatted as a text block, and whether it fits the token budget.

    ``tokens`` is the size of the block with its fence and separator; ``room`` is how many tokens of
    the budget were left when the memory was considered, besides the frame.
    """

    memory: ScoredMemory
    block: str
    tokens: int
    fits: bool
    room: int


class Packing(NamedTuple):
    """Result of packing memories into a token budget; ``packed`` is in the order of the input.

    ``tokens_used`` is the size of all that is handed over, of which ``frame_tokens`` are the
    directive; both are 0 when no memory fits.
    """

    packed: tuple[PackedMemory, ...]
    tokens_used: int
    frame_tokens: int = 0

    @property
    def text(self) -> str:
        """The blocks that fit, joined into one text; empty when none fits."""
        return _SEPARATOR.join(memory.block for memory in self.packed if memory.fits)


def role_of(injection_point: InjectionPoint) -> MessageRole:
    """Return the chat role for an injection point; raises ``ValueError`` for an unknown one."""
    role = _ROLES.get(injection_point)
    if role is None:
        raise ValueError(f"unknown injection point {injection_point!r}")
    return role


def memory_block(memory: ScoredMemory, wording: MemoryWording | None = None) -> str:
    """Format a memory for an agent: its category, score and content, in a fence.

    One that nothing scored, as a pinned one may be, has no score. Without a ``wording`` it is told
    as it is.

    Control, invisible and reordering characters are shown as glyphs, so that a person sees what
    the model gets.
    """
    shared = "[shared] " if memory.is_shared else ""
    score = f" | score: {memory.combined_score:.2f}" if memory.combined_score else ""
    told = wording or MemoryWording(memory.entry.content)
    seen = f" | {told.seen}" if told.seen else ""
    header = f"{shared}[{memory.entry.category}{score}{seen}]"
    rest = f" [{WHOLE_BY} {told.whole}]" if told.whole else ""
    block = wrap_untrusted(TAG_MEMORY_ENTRY, f"{header} {told.text}{rest}")
    return safe_text(block, multiline=True)


def frame_tokens(estimator: TokenEstimator) -> int:
    """Return the tokens that the directive before the memories takes of a budget."""
    # One more, since an estimator may round down the directive and what follows it.
    return estimator.estimate_tokens(f"{DIRECTIVE}{_PARAGRAPH}") + 1


def pack_memories(
    memories: Iterable[ScoredMemory],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    wordings: Mapping[str, MemoryWording] = MappingProxyType({}),
) -> Packing:
    """Pack memories greedily into a token budget, in the order given.

    The directive is charged to the budget, and so is the separator before each block but the
    first. A memory too large for the remaining budget is skipped; smaller ones after it may still
    fit. ``wordings`` are by id; a memory without one is told as it is.
    """
    blocks = [(memory, memory_block(memory, wordings.get(memory.entry.id))) for memory in memories]
    frame = frame_tokens(estimator)
    while True:
        packing = _packed(blocks, estimator, token_budget, frame)
        tokens = estimator.estimate_tokens(f"{DIRECTIVE}{_PARAGRAPH}{packing.text}")
        if not packing.text or tokens <= packing.tokens_used:
            return packing
        frame += tokens - packing.tokens_used  # this tokenizer counts parts lower than the whole


def _packed(
    blocks: Sequence[tuple[ScoredMemory, str]],
    estimator: TokenEstimator,
    token_budget: int,
    frame: int,
) -> Packing:
    separator = estimator.estimate_tokens(_SEPARATOR)
    packed: list[PackedMemory] = []
    used = frame
    any_fits = False
    for memory, block in blocks:
        tokens = estimator.estimate_tokens(block) + (separator if any_fits else 0)
        room = max(0, token_budget - used)
        fits = tokens <= room
        packed.append(PackedMemory(memory, block, tokens, fits, room))
        if fits:
            any_fits = True
            used += tokens
    return Packing(tuple(packed), used, frame) if any_fits else Packing(tuple(packed), 0)


def messages_for(
    packing: Packing, *, injection_point: InjectionPoint = InjectionPoint.SYSTEM
) -> tuple[ChatMessage, ...]:
    """Return the chat messages for packed memories: the directive, then the memories.

    The directive is a system message that tells the model to treat memories as data; the memories
    are a message with the role of ``injection_point``. Return ``()`` when no memory fits.

    Raises:
        ValueError: The injection point is unknown.
    """
    role = role_of(injection_point)
    if not packing.text:
        return ()
    return (
        ChatMessage(role=MessageRole.SYSTEM, content=DIRECTIVE),
        ChatMessage(role=role, content=packing.text),
    )


def format_memory_context_with_directive(
    memories: tuple[ScoredMemory, ...],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
) -> tuple[ChatMessage, ...]:
    """Return messages with as many memories as fit the budget, or ``()`` when none fits.

    Args:
        memories: Ranked memories, best first.
        estimator: Counts tokens.
        token_budget: Maximum tokens for all messages together, fences and directive included.
        injection_point: Role of the message that carries the memories.

    Raises:
        ValueError: The injection point is unknown.
    """
    packing = pack_memories(memories, estimator=estimator, token_budget=token_budget)
    return messages_for(packing, injection_point=injection_point)
