"""Configuration of the memory digest."""

from pydantic import Field, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity

_MAX_ITEMS = 1000
_MAX_CHARS = 200_000
_MAX_TOKENS = 400_000


class StructuredConfig(FrozenModel):
    """Memories that are always looked up: facts by their key, memories by tag."""

    fact_keys: tuple[NotBlankStr, ...] = ()
    tags: tuple[NotBlankStr, ...] = ()


class KeywordConfig(FrozenModel):
    """Keyword search with the words of the task; returns at most ``limit`` hits."""

    enabled: bool = True
    limit: int = Field(default=60, ge=1, le=200)


class SemanticConfig(FrozenModel):
    """Vector search with the text of the task; returns at most ``limit`` hits."""

    enabled: bool = False
    limit: int = Field(default=20, ge=1, le=200)


class KindBudget(FrozenModel):
    """Limits for the items of one kind in a digest; ``max_tokens`` ``None`` is no limit."""

    max_items: int = Field(ge=0, le=_MAX_ITEMS)
    max_chars: int = Field(ge=0, le=_MAX_CHARS)
    max_tokens: int | None = Field(default=None, ge=0, le=_MAX_TOKENS)


class KindBudgets(FrozenModel):
    """Limits for each kind of digest item: facts, notes, procedures and episodes."""

    fact: KindBudget = KindBudget.model_construct(max_items=6, max_chars=800)
    note: KindBudget = KindBudget.model_construct(max_items=4, max_chars=1200)
    procedure: KindBudget = KindBudget.model_construct(max_items=3, max_chars=1200)
    episode: KindBudget = KindBudget.model_construct(max_items=2, max_chars=800)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return {
            kind: {**defaults[kind].model_dump(), **budget}
            if kind in defaults and isinstance(budget, dict)
            else budget
            for kind, budget in given.items()
        }


class BudgetsConfig(FrozenModel):
    """Limits for the whole digest and for each kind of item; a token is about 4 characters."""

    max_total_items: int = Field(default=12, ge=0, le=_MAX_ITEMS)
    max_total_chars: int = Field(default=2400, ge=0, le=_MAX_CHARS)
    max_total_tokens: int | None = Field(default=None, ge=0, le=_MAX_TOKENS)
    per_kind: KindBudgets = KindBudgets.model_construct()


class MemoryV1Config(FrozenModel):
    """Settings of the digest.

    While it is enabled, the digest replaces every other injection strategy.
    """

    enabled: bool = True
    allow_sensitivities: tuple[Sensitivity, ...] = GIVEN_BY_DEFAULT
    structured: StructuredConfig = StructuredConfig.model_construct()
    keyword: KeywordConfig = KeywordConfig.model_construct()
    semantic: SemanticConfig = SemanticConfig.model_construct()
    budgets: BudgetsConfig = BudgetsConfig.model_construct()
