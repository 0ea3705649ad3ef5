"""Turns ranked memories into messages that fit a token budget.

Each memory stands in a fence of its own, and a directive says that what stands in such fences is
data: whoever plants a memory can't speak as the system.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.enums import InjectionPoint
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

TAG_MEMORY_ENTRY: Final = "memory-entry"
_SEPARATOR: Final = "\n"
_ROLES: Final = {
    InjectionPoint.SYSTEM: MessageRole.SYSTEM,
    InjectionPoint.USER: MessageRole.USER,
}


class PackedMemory(NamedTuple):
    """A memory's block, its tokens (fence and separator included), and whether there was room.

    ``room`` is how many tokens were left when its turn came.
    """

    memory: ScoredMemory
    block: str
    tokens: int
    fits: bool
    room: int


class Packing(NamedTuple):
    """What became of each memory, in the order in which they were offered."""

    packed: tuple[PackedMemory, ...]
    tokens_used: int

    @property
    def text(self) -> str:
        """The blocks that fit."""
        return _SEPARATOR.join(memory.block for memory in self.packed if memory.fits)


def role_of(injection_point: InjectionPoint) -> MessageRole:
    """The role of the message that carries memories; raises ``ValueError`` for an unknown point."""
    role = _ROLES.get(injection_point)
    if role is None:
        raise ValueError(f"unknown injection point {injection_point!r}")
    return role


def memory_block(memory: ScoredMemory) -> str:
    """The memory as an agent reads it: fenced, with category and score."""
    shared = "[shared] " if memory.is_shared else ""
    header = f"{shared}[{memory.entry.category} | score: {memory.combined_score:.2f}]"
    return wrap_untrusted(TAG_MEMORY_ENTRY, f"{header} {memory.entry.content}")


def pack_memories(
    memories: Iterable[ScoredMemory], *, estimator: TokenEstimator, token_budget: int
) -> Packing:
    """Fill a budget greedily in the order given.

    A memory too large for what is left is skipped, and smaller ones after it still get in. The
    first block costs its own tokens, each further one those of the separator too.
    """
    separator = estimator.estimate_tokens(_SEPARATOR)
    packed: list[PackedMemory] = []
    used = 0
    any_fits = False
    for memory in memories:
        block = memory_block(memory)
        tokens = estimator.estimate_tokens(block) + (separator if any_fits else 0)
        room = token_budget - used
        fits = tokens <= room
        packed.append(PackedMemory(memory, block, tokens, fits, room))
        if fits:
            any_fits = True
            used += tokens
    return Packing(tuple(packed), used)


def messages_for(
    packing: Packing, *, injection_point: InjectionPoint = InjectionPoint.SYSTEM
) -> tuple[ChatMessage, ...]:
    """The directive as a system message, then the memories in the configured role.

    ``()`` when no memory fits, so that the directive never stands alone.

    Raises:
        ValueError: The injection point is unknown.
    """
    role = role_of(injection_point)
    if not packing.text:
        return ()
    directive = untrusted_content_directive((TAG_MEMORY_ENTRY,))
    return (
        ChatMessage(role=MessageRole.SYSTEM, content=directive),
        ChatMessage(role=role, content=packing.text),
    )


def format_memory_context_with_directive(
    memories: tuple[ScoredMemory, ...],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
) -> tuple[ChatMessage, ...]:
    """Messages with as many of ``memories`` as fit, best first; ``()`` when none does.

    Args:
        memories: Ranked, best first.
        estimator: Counts tokens.
        token_budget: For the memories; the directive isn't charged.
        injection_point: The role of the message that carries the memories.

    Raises:
        ValueError: The injection point is unknown.
    """
    packing = pack_memories(memories, estimator=estimator, token_budget=token_budget)
    return messages_for(packing, injection_point=injection_point)
