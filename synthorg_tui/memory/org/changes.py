"""Writes to organisation memory as data, so that they can wait for a person and be undone.

What carries them out is ``memory.org.store``; in which transaction is for whoever holds them, as
part of a ``MemoryBundle``.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from pydantic import model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest


class OrgChangeKind(StrEnum):
    """What becomes of a fact: a ``PUBLISH`` is a new one, a new version of one, or its revival."""

    PUBLISH = "publish"
    RETRACT = "retract"


class OrgChange(FrozenModel):
    """One write: ``request`` is what a ``PUBLISH`` says, and ``fact_id`` of a new fact is ``None``.

    ``expected_version`` is the version that its author saw: another one in the store means that
    somebody wrote meanwhile, and the change fails with ``OrgMemoryWriteError``. ``None`` for any.
    """

    kind: OrgChangeKind
    author: OrgFactAuthor
    fact_id: NotBlankStr | None = None
    request: OrgFactWriteRequest | None = None
    expected_version: int | None = None

    @model_validator(mode="after")
    def _validate_parts(self) -> Self:
        if self.kind is OrgChangeKind.PUBLISH and self.request is None:
            raise ValueError("a publish change must say what to publish")
        if self.kind is OrgChangeKind.RETRACT and (self.fact_id is None or self.request):
            raise ValueError("a retract change names a fact and nothing else")
        return self


class OrgEffect(FrozenModel):
    """What became of one fact: its version before, 0 if new, and after.

    Its texts are in the log of facts, so that erasing them there erases them.
    """

    fact_id: str
    before: int
    after: int


def effects_by_fact(effects: Iterable[OrgEffect]) -> tuple[OrgEffect, ...]:
    """Return effects once for each fact, from its first version to its last."""
    found: dict[str, OrgEffect] = {}
    for effect in effects:
        first = found.get(effect.fact_id, effect)
        found[effect.fact_id] = effect.model_copy(update={"before": first.before})
    return tuple(found.values())
