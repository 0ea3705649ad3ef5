"""The package ``mem0ai`` without a network: our vectors in, no model, no telemetry, one thread.

Left to itself the package sends what it is used for to its makers, asks for notices to show, and
fetches models where certain packages happen to be installed. Everything of that is shut here, and
nothing else may import the package.
"""

import asyncio
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.memory.errors import MemoryConfigError, MemoryConnectionError
from synthorg_tui.memory.index.protocol import SparseVector
from synthorg_tui.providers.embedding.protocol import Vectors

T = TypeVar("T")

MAX_LISTED: Final = 1_000_000
"""Memories that are listed of one owner at most."""
API_VERSION: Final = "v1.1"

_QDRANT: Final = "qdrant"
_HISTORY: Final = "history.db"
_EMBEDDER: Final = "embedder.json"
_KEYWORDS: Final = "bm25"
"""What the package calls the vectors of keywords in its collections."""
_NO_KEY: Final = "unused"
_FIELDS: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to")
_OWN: Final = frozenset({"data", "hash", "created_at", "updated_at", "text_lemmatized", *_FIELDS})

Item = Mapping[str, Any]
"""A memory as the package returns it."""


class _NoModel:
    """In the place of a language model, which nothing here may ask."""

    def generate_response(self, *args: object, **kwargs: object) -> str:
        raise RuntimeError("no language model is used")


class _HandedVector:
    """In the place of the package's embedding model: says the vector that was made beforehand."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.vector


class Mem0Client:
    """The memories in one folder, by the package's own calls.

    All calls run in one thread, since its embedded Qdrant is used from the thread that opened it.

    Args:
        directory: Holds the embedded Qdrant and ``history.db``.
        collection: Collection in that Qdrant.
        fingerprint: What made the vectors; those of another embedder aren't comparable.
        dims: Length of each vector.
    """

    def __init__(self, directory: Path, *, collection: str, fingerprint: str, dims: int) -> None:
        self._directory = directory
        self._collection = collection
        self._embedder = {"fingerprint": fingerprint, "dims": dims}
        self._handed = _HandedVector()
        self._memory: Any = None
        self._thread: ThreadPoolExecutor | None = None

    @property
    def is_open(self) -> bool:
        """Whether the folder is open."""
        return self._memory is not None

    async def open(self) -> None:
        """Open the folder.

        Raises ``MemoryConfigError`` without the package or with another embedder than before, and
        ``MemoryConnectionError`` when another process has it open.
        """
        if self.is_open:
            return
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mem0")
        try:
            self._memory = await self._run(self._opened)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the folder; do nothing when it is closed already."""
        memory, thread = self._memory, self._thread
        self._memory = self._thread = None
        if thread is None:
            return
        if memory is not None:
            await asyncio.get_running_loop().run_in_executor(thread, _close, memory)
        await asyncio.to_thread(thread.shutdown)

    async def add(
        self, text: str, user: str, metadata: Mapping[str, object], vector: Vectors
    ) -> str:
        """Store a text of a user and return its id."""

        def work() -> str:
            self._handed.vector = vector.tolist()
            messages = [{"role": "user", "content": text}]
            added = self._memory.add(
                messages=messages, user_id=user, metadata=dict(metadata), infer=False
            )
            return str(added["results"][0]["id"])

        return await self._run(work)

    async def add_keywords(self, memory_id: str, keywords: SparseVector) -> None:
        """Have a memory found by its keywords, too."""
        if keywords.is_empty:
            return

        def work() -> None:
            from qdrant_client import models

            sparse = models.SparseVector(
                indices=list(keywords.indices), values=list(keywords.values)
            )
            point = models.PointVectors(id=memory_id, vector={_KEYWORDS: sparse})
            self._memory.vector_store.client.update_vectors(self._collection, [point])

        await self._run(work)

    async def get(self, memory_id: str) -> Item | None:
        """Return the memory with this id, or ``None``."""
        if not _is_uuid(memory_id):
            return None
        found: Item | None = await self._run(lambda: self._memory.get(memory_id))
        return found

    async def all_of(self, user: str | None) -> list[Item]:
        """Return all memories of a user, or with ``None`` those of everybody."""

        def work() -> list[Item]:
            if user is None:
                rows, _ = self._memory.vector_store.list(top_k=MAX_LISTED)
                return [_item(str(row.id), row.payload or {}) for row in rows]
            found = self._memory.get_all(filters={"user_id": user}, top_k=MAX_LISTED)
            return list(found["results"])

        return await self._run(work)

    async def search(self, text: str, user: str, vector: Vectors, *, limit: int) -> list[Item]:
        """Return a user's memories by cosine similarity, best first, each with its ``score``."""

        def work() -> list[Item]:
            self._handed.vector = vector.tolist()
            found = self._memory.search(text, filters={"user_id": user}, top_k=limit, threshold=0.0)
            return list(found["results"])

        return await self._run(work)

    async def search_keywords(self, keywords: SparseVector, user: str, *, limit: int) -> list[Item]:
        """Return a user's memories by BM25, best first, each with its raw ``score``."""
        if keywords.is_empty:
            return []

        def work() -> list[Item]:
            from qdrant_client import models

            is_user = models.FieldCondition(key="user_id", match=models.MatchValue(value=user))
            found = self._memory.vector_store.client.query_points(
                self._collection,
                query=models.SparseVector(
                    indices=list(keywords.indices), values=list(keywords.values)
                ),
                using=_KEYWORDS,
                query_filter=models.Filter(must=[is_user]),
                limit=limit,
            )
            return [{**_item(str(p.id), p.payload or {}), "score": p.score} for p in found.points]

        return await self._run(work)

    async def delete(self, memory_id: str) -> None:
        """Delete a memory; the package keeps its text in its own history."""
        await self._run(lambda: self._memory.delete(memory_id))

    async def history(self, memory_id: str) -> list[Item]:
        """Return the package's history of a memory, oldest first."""
        return await self._run(lambda: list(self._memory.history(memory_id)))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise MemoryConnectionError("the mem0 backend is not connected")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _opened(self) -> Any:
        ensure_private_dir(self._directory)
        kind = package(self._directory)
        self._require_same_embedder()
        try:
            memory = kind.from_config(self._config())
        except RuntimeError as error:  # what its Qdrant raises for a folder that is in use
            raise MemoryConnectionError(f"mem0 can't open {self._directory}: {error}") from error
        _cut_off(memory, self._handed)
        self._require_own_vectors(memory)
        marker = self._directory / _EMBEDDER
        marker.write_text(json.dumps(self._embedder), encoding="utf-8")
        return memory

    def _config(self) -> dict[str, object]:
        store = {
            "collection_name": self._collection,
            "embedding_model_dims": self._embedder["dims"],
            "path": str(self._directory / _QDRANT),
            "on_disk": True,
        }
        key = {"api_key": _NO_KEY}
        return {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {
                "provider": "openai",
                "config": {**key, "embedding_dims": self._embedder["dims"]},
            },
            "llm": {"provider": "openai", "config": key},
            "history_db_path": str(self._directory / _HISTORY),
            "version": API_VERSION,
        }

    def _require_same_embedder(self) -> None:
        marker = self._directory / _EMBEDDER
        if marker.is_file() and json.loads(marker.read_text("utf-8")) != self._embedder:
            raise MemoryConfigError(
                f"the memories in {self._directory} were stored with another embedding model",
                remedy="Choose that model again in providers.embedding, or another folder in "
                "memory.mem0.data_dir.",
            )

    def _require_own_vectors(self, memory: Any) -> None:
        """Refuse what another program stored: its vectors mean something else."""
        if (self._directory / _EMBEDDER).is_file():
            return
        rows, _ = memory.vector_store.list(top_k=1)
        if rows:
            _close(memory)
            raise MemoryConfigError(
                f"{self._directory} holds memories that another program stored",
                remedy=f"Choose another folder in memory.mem0.data_dir, and bring them over: "
                f"synthorg-tui import mem0 {self._directory}",
            )


def package(directory: Path) -> Any:
    """Return the class of the package that keeps memories, with all that would call out shut.

    ``directory`` is where it may write what it keeps of itself. Raises ``MemoryConfigError`` when
    the package isn't installed.
    """
    with _environment(MEM0_TELEMETRY="False", MEM0_DIR=str(directory)):
        try:
            from mem0.memory import main, telemetry
            from mem0.utils import spacy_models
        except ImportError as error:
            raise MemoryConfigError(
                f"the mem0 backend needs the package mem0ai ({error})",
                remedy="Install it with: pip install 'synthorg-tui[mem0]' - or set memory.backend "
                "to local.",
            ) from error
    # A program that imported the package itself before has set these by its own environment.
    main.MEM0_TELEMETRY = telemetry.MEM0_TELEMETRY = False
    spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
    logging.getLogger("mem0").setLevel(logging.ERROR)
    return main.Memory


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _cut_off(memory: Any, vectors: _HandedVector) -> None:
    """Put ours in the place of the models that the package made clients of servers for."""
    for part in (memory.llm, memory.embedding_model):
        part.client.close()
    memory.llm, memory.embedding_model = _NoModel(), vectors
    memory.vector_store._bm25_encoder = False  # its own word for: tried, and there is none


def _close(memory: Any) -> None:
    client = memory.vector_store.client
    memory.close()
    client.close()


def _item(memory_id: str, payload: Mapping[str, Any]) -> Item:
    """A point of the collection as the package returns memories."""
    return {
        "id": memory_id,
        "memory": payload.get("data", ""),
        "created_at": payload.get("created_at"),
        "updated_at": payload.get("updated_at"),
        **{name: payload[name] for name in _FIELDS if name in payload},
        "metadata": {name: value for name, value in payload.items() if name not in _OWN},
    }


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
