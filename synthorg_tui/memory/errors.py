"""Memory errors. ``MemoryError`` here is the domain error; the builtin always propagates."""

from synthorg_tui.core.errors import DomainError


class MemoryError(DomainError):
    """Base of every memory failure."""


class MemoryConnectionError(MemoryError):
    """The backend is not connected or the connection was lost."""


class MemoryStoreError(MemoryError):
    """A store, edit or delete failed."""


class WriteRefusedError(MemoryStoreError):
    """An agent may not write that, or not now; it may know why."""


class WriteWaitsError(MemoryStoreError):
    """Nothing was stored: a person is asked first, by the item with ``item_id``."""

    def __init__(self, item_id: str) -> None:
        super().__init__(f"{item_id} waits for a person")
        self.item_id = item_id


class MemoryRetrievalError(MemoryError):
    """A retrieve, search or count failed."""


class MemoryNotFoundError(MemoryError):
    """No memory has the given id."""


class MemoryConfigError(MemoryError):
    """The memory configuration is invalid."""

    exit_code = 2


class MemoryCapabilityError(MemoryError):
    """The backend doesn't support the operation."""


class VectorIndexError(MemoryError):
    """The vector index failed; the store still has everything and can rebuild it."""
