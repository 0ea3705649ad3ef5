"""Writes to organisation memory as data, so that they can wait for a person and be undone.

What carries them out is ``memory.org.store``; in which transaction is for whoever holds them, as
part of a ``MemoryBundle``.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest

if TYPE_CHECKING:
    from synthorg_tui.memory.org.models import OperationLogSnapshot


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


@dataclass(frozen=True, slots=True)
class AppliedOrgChange:
    """A change that was carried out: the fact's state before, ``None`` if new, and its version."""

    fact_id: str
    before: "OperationLogSnapshot | None"
    version: int
