"""Common base of models that run in this process, and reading the files that they are in.

What a model is for is said by its ``ModelRole``; what it computes belongs to its own room.
"""

import asyncio
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import be_gentle

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")

Batch: TypeAlias = tuple[Sequence[int], Callable[[], Any]]
"""Positions of texts, and what computes the array that is theirs."""

_MAX_THREADS = 4
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 20


class ModelRole(NamedTuple):
    """What a model is for, so that messages name it and the settings that it comes from.

    ``name`` is as it is called in a sentence, ``purpose`` what it is used for, ``setting`` the key
    of its settings; ``remedy`` is what to do about a file that doesn't fit. ``error`` is raised.
    """

    name: str
    purpose: str
    setting: str
    remedy: str
    error: type[DomainError]

    def unusable(self, path: Path, reason: str) -> DomainError:
        """Return the error for a file that is no model of this kind, or doesn't fit."""
        return self.error(f"{path} can't be used for {self.purpose}: {reason}", remedy=self.remedy)


def default_threads() -> int:
    """Return the number of threads used by default: one for each processor core, at most four."""
    return min(_MAX_THREADS, os.cpu_count() or 1)


def opened(path: Path, role: ModelRole) -> BinaryIO:
    """Open a file of a model that the settings name; raises the error of the role."""
    try:
        return path.open("rb")
    except OSError as error:
        raise role.error(
            f"The {role.name} {path} can't be read: {error.strerror}",
            remedy=f"Check {role.setting}.path",
        ) from error


def identity_of(path: Path, role: ModelRole) -> str:
    """Return a hash of the size and of samples spread over a file; models can be gigabytes."""
    digest = hashlib.sha256()
    with opened(path, role) as file:
        size = path.stat().st_size
        digest.update(str(size).encode())
        last = max(0, size - _SAMPLE_BYTES)
        for number in range(_SAMPLES):
            file.seek(last * number // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


def tokenizer_beside(path: Path, role: ModelRole) -> Path:
    """Return the ``tokenizer.json`` of a model's file: beside it, or one folder up.

    Raises the error of the role when there is none, or no model.
    """
    for folder in (path.parent, path.parent.parent):
        if (found := folder / "tokenizer.json").is_file():
            return found
    with opened(path, role):  # of a model that isn't there, this is what to tell
        pass
    raise role.error(
        f"The {role.name} {path} has no tokenizer.json beside it",
        remedy="Put the tokenizer.json of the model into its folder",
    )


def load_tokenizer(path: Path, role: ModelRole) -> "Tokenizer":
    """Return the tokenizer of a model's file, which neither pads nor truncates.

    Raises the error of the role.
    """
    from tokenizers import Tokenizer

    file = tokenizer_beside(path, role)
    with opened(file, role) as stream:
        content = stream.read()
    try:
        tokenizer = Tokenizer.from_str(content.decode())
    except Exception as error:  # the library raises plain exceptions
        raise role.error(
            f"{file} is no tokenizer: {error}", remedy="Put the model's own tokenizer.json there"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


class LocalModel(ABC):
    """Base of models that run in this process, on a thread of their own.

    A long call yields the thread after each batch, so that a short one sent meanwhile waits for one
    batch only. With ``gentle`` a model that several threads may use computes long calls on another
    thread, before which everything else goes.
    """

    def __init__(self, role: ModelRole, *, gentle: bool = False) -> None:
        self._role = role
        self._executor: ThreadPoolExecutor | None = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix=role.purpose
        )
        self._long = self._executor
        if gentle:
            self._long = ThreadPoolExecutor(
                1, thread_name_prefix=f"{role.purpose} many", initializer=be_gentle
            )
        self._under_way = 0

    @property
    @abstractmethod
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""

    @abstractmethod
    def _unload(self) -> None:
        """Frees the model."""

    async def unload(self) -> None:
        """Free the model's memory until it is needed again; does nothing while it works."""
        if self._executor is not None and not self._under_way:
            await self._run(self._unload)

    async def close(self) -> None:
        """Release the model and its memory; do nothing when closed already."""
        if self._executor is None:
            return
        executor, self._executor = self._executor, None
        await asyncio.get_running_loop().run_in_executor(executor, self._unload)
        executor.shutdown(wait=True)
        self._long.shutdown(wait=True)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Keeps the model in memory: batches hold the one that they were planned with."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _parts(
        self, plan: Callable[[], Sequence[Batch]], *, is_long: bool = False
    ) -> AsyncIterator[tuple[Sequence[int], Any]]:
        """What each batch of a plan gives; the plan and its first batch are made in one go."""

        def begin() -> tuple[Sequence[Batch], list[Any]]:
            batches = plan()
            return batches, [compute() for _, compute in batches[:1]]

        batches, first = await self._run(begin, is_long=is_long)
        for at, (positions, compute) in enumerate(batches):
            yield positions, first[0] if at == 0 else await self._run(compute, is_long=is_long)

    async def _run(self, work: Callable[[], T], *, is_long: bool = False) -> T:
        role = self._role
        if self._executor is None:
            raise role.error(f"The {role.name} is closed", remedy="Open the store again")
        try:
            executor = self._long if is_long else self._executor
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except (role.error, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise role.error(f"The {role.name} failed: {error}") from error
