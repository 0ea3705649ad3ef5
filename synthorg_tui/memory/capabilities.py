"""Capabilities of memory backends, so that callers can check a feature before they use it.

Beyond the documented ones, ``Feature`` names what only the local backend can do, with words for
what another backend lacks, so that every command and screen reports the same error.
"""

from enum import Enum
from typing import Final, Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import MemoryCapabilityError


@runtime_checkable
class MemoryCapabilities(Protocol):
    """Features that a memory backend supports, so that callers can check before they use one."""

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Memory categories that the backend can store."""

    @property
    def supports_graph(self) -> bool:
        """Whether the backend can query relations between memories."""

    @property
    def supports_temporal(self) -> bool:
        """Whether the backend honours ``since``, ``until`` and expiry times."""

    @property
    def supports_vector_search(self) -> bool:
        """Whether query texts are matched by meaning (embeddings) instead of by words only."""

    @property
    def supports_shared_access(self) -> bool:
        """Whether the backend also implements ``SharedKnowledgeStore``."""

    @property
    def max_memories_per_agent(self) -> int | None:
        """Maximum number of live memories of one agent, or ``None`` for no limit."""


LOCAL: Final = "local"


class Feature(Enum):
    """What needs the local backend, each with what any other one lacks for it."""

    ABSENCES = "doesn't say why a memory isn't given"
    ARCHIVE = "has no archive"
    CONSOLIDATION = "has no archive, so that nothing can be consolidated"
    DELETED = "deletes for good: there is nothing to restore"
    EDITING = "can't change a memory: delete it and add the new text"
    ERASING = "doesn't know what was made of a memory, so that it can't erase both"
    EVALUATION = "can't be copied, which trying out skills needs"
    IMPORTS = "can't tell what it was told already, which imports of sessions need"
    KNOWLEDGE = "doesn't know from which sessions a memory is, which knowledge of projects needs"
    LESSONS = (
        "can't change memories and the record of a decision as one, which skills, approvals and "
        "stored sessions need"
    )
    MAINTENANCE = "has no index and no backups of ours to check, to make anew or to copy"
    ORGANISATION = "keeps no facts of the organisation"
    PAST = "doesn't know what was known at a time"
    RUNS = "can't keep records of runs as memories, which running agents here needs"
    SECRETS = "can't be searched for secrets"
    UNDO = "keeps no record of changes to undo"

    def __init__(self, lack: str) -> None:
        self.lack = lack

    def refused_by(self, backend_name: str) -> MemoryCapabilityError:
        """Return the error that says that a backend can't do it, and what to choose instead."""
        return MemoryCapabilityError(
            f"the {backend_name} backend {self.lack}", remedy="Set memory.backend to local."
        )
