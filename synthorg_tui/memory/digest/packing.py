"""Fills the budget of a digest, item by item, and says why each one got in or didn't."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from synthorg_tui.memory.digest.config import BudgetsConfig, KindBudget
from synthorg_tui.memory.digest.lines import line_of, tokens_of
from synthorg_tui.memory.digest.models import DigestItem, ItemKind

_SECOND_TRY = 0.7
"""Share of the remaining characters that a line with too many tokens is tried with again."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An item's digest line and its size in tokens.

    ``line`` is ``None`` when the item didn't fit; ``reason`` then says why.
    """

    item: DigestItem
    line: str | None
    tokens: int = 0
    reason: str = ""


@dataclass(slots=True)
class _Used:
    items: int = 0
    chars: int = 0
    tokens: int = 0

    def add(self, line: str, tokens: int) -> None:
        self.items += 1
        self.chars += len(line) + 1  # the newline counts
        self.tokens += tokens


@dataclass(slots=True)
class Packer:
    """Packs items into the budgets of a digest, keeping track of what remains.

    ``most_tokens`` limits all lines together; ``count`` returns the number of tokens of a line.
    """

    budgets: BudgetsConfig
    most_tokens: int | None
    count: Callable[[str], int] = tokens_of
    _total: _Used = field(default_factory=_Used)
    _kinds: dict[ItemKind, _Used] = field(default_factory=dict)

    def pack(self, items: Sequence[DigestItem]) -> tuple[Packed, ...]:
        """Pack items in order; after one that doesn't fit, later ones may still fit."""
        return tuple(self._pack(item) for item in items)

    def _pack(self, item: DigestItem) -> Packed:
        kind: KindBudget = getattr(self.budgets.per_kind, item.kind.value)
        used = self._kinds.setdefault(item.kind, _Used())
        full = self._full(item.kind, kind, used)
        if full:
            return Packed(item, None, reason=full)
        room = min(self.budgets.max_total_chars - self._total.chars, kind.max_chars - used.chars)
        tokens = self._tokens_left(kind, used)
        line = self._fitting(item, room - 1, tokens)
        if line is None:
            return Packed(item, None, reason=self._misfit(room - 1, tokens))
        counted = self.count(line)
        self._total.add(line, counted)
        used.add(line, counted)
        return Packed(item, line, counted)

    def _full(self, name: ItemKind, kind: KindBudget, used: _Used) -> str:
        """The budget that is used up, in words; empty when none is."""
        total = self._total
        bounds = (
            (total.items, self.budgets.max_total_items, "items", "altogether"),
            (used.items, kind.max_items, "items", f"of kind {name}"),
            (total.chars, self.budgets.max_total_chars, "characters", "altogether"),
            (used.chars, kind.max_chars, "characters", f"of kind {name}"),
            (total.tokens, self.most_tokens, "tokens", "altogether"),
            (used.tokens, kind.max_tokens, "tokens", f"of kind {name}"),
        )
        for have, most, what, where in bounds:
            if most is not None and have >= most:
                return f"the {most} {what} {where} are used up"
        return ""

    def _tokens_left(self, kind: KindBudget, used: _Used) -> int | None:
        left = [
            most - have
            for most, have in (
                (self.most_tokens, self._total.tokens),
                (kind.max_tokens, used.tokens),
            )
            if most is not None
        ]
        return min(left, default=None)

    def _fitting(self, item: DigestItem, chars: int, tokens: int | None) -> str | None:
        for limit in (chars, int(chars * _SECOND_TRY)):
            line = line_of(item, limit)
            if line is None or tokens is None or self.count(line) <= tokens:
                return line
        return None

    @staticmethod
    def _misfit(chars: int, tokens: int | None) -> str:
        left = f"{max(0, chars)} characters"
        return f"does not fit in the {left}" + ("" if tokens is None else f" and {tokens} tokens")
