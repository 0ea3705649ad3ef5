"""A model of its own for questions, in a folder that was written whole and is checked before use.

Texts keep the vectors of the base, which it was trained towards. It is a model in an ONNX file that
gives a text its vector, run like any other; nothing else is needed to use it. What the folder must
be like is said by one hash, which whoever wrote it keeps elsewhere.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.files import read_plain
from synthorg_tui.providers.embedding.config import OnnxConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.factory import QueryCache
from synthorg_tui.providers.embedding.onnx_file import OnnxFileEmbedder
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

ABOUT: Final = "encoder.json"
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
MAX_ENCODER_BYTES: Final = 8_000_000_000
"""Largest file of an encoder that is read."""

_FORMAT: Final = "synthorg-tui query encoder 1"


@dataclass(frozen=True, slots=True)
class EncoderAbout:
    """What ``encoder.json`` says: the base, the shape of the model, and the hashes of its files."""

    base: str
    dims: int
    max_tokens: int
    model: str
    tokenizer: str

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        said = {"format": _FORMAT, "base": self.base, "dims": self.dims}
        hashes = {MODEL: self.model, TOKENIZER: self.tokenizer}
        said |= {"max_tokens": self.max_tokens, "sha256": hashes}
        return json.dumps(said, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> "EncoderAbout":
        """Read a file's content; raises ``EmbeddingError`` for anything else."""
        try:
            said = json.loads(content)
            if said["format"] != _FORMAT:
                raise ValueError("it is of another format")
            dims, tokens = int(said["dims"]), int(said["max_tokens"])
            hashes = said["sha256"]
            return cls(str(said["base"]), dims, tokens, str(hashes[MODEL]), str(hashes[TOKENIZER]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise EmbeddingError(f"this isn't the folder of an encoder: {error}") from None


def describe(folder: Path, *, base: str, dims: int, max_tokens: int) -> EncoderAbout:
    """Return what is to be said of a model and its tokenizer in a folder; raises ``OSError``."""
    model, tokenizer = sha256_of(folder / MODEL), sha256_of(folder / TOKENIZER)
    return EncoderAbout(base, dims, max_tokens, model, tokenizer)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size; raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class QueryEncoder:
    """A model that questions are embedded with, in a folder; loaded with the first question.

    Args:
        folder: Where ``encoder.json``, the model and its tokenizer are.
        about: What ``encoder.json`` says.
        threads: Those of the model; as for other models without it.
    """

    def __init__(self, folder: Path, about: EncoderAbout, *, threads: int | None = None) -> None:
        self.folder = folder
        self.about = about
        self._threads = threads
        self._model: Embedder = QueryCache(_CheckedModel(folder, about, threads=threads))

    @classmethod
    def in_folder(cls, folder: Path, sha256: str) -> "QueryEncoder":
        """Return the encoder of a folder whose ``encoder.json`` has this hash.

        All files are read. Raises ``EmbeddingError`` when one isn't as it was written.
        """
        try:
            content, _ = read_plain(folder / ABOUT)
        except OSError as error:
            raise EmbeddingError(f"{ABOUT} can't be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _changed(folder / ABOUT)
        about = EncoderAbout.from_bytes(content)
        _require(folder / MODEL, about.model)
        _require(folder / TOKENIZER, about.tokenizer)
        return cls(folder, about)

    @property
    def base(self) -> str:
        """Fingerprint of the embedder of the texts."""
        return self.about.base

    @property
    def fingerprint(self) -> str:
        """Identifier of base and encoder together."""
        return _fingerprint(self.about)

    @property
    def is_loaded(self) -> bool:
        return self._model.is_loaded

    def twin(self) -> "QueryEncoder":
        return QueryEncoder(self.folder, self.about, threads=self._threads)

    async def vector_of(self, text: str, base: Embedder) -> Vectors:
        """Return the vector of a question; the base isn't asked. Recent ones are remembered."""
        return await self._model.embed_query(text)

    async def embed(self, texts: list[str]) -> Vectors:
        """Return the vectors of many questions, one row each."""
        return await self._model.embed(texts)

    async def unload(self) -> None:
        await self._model.unload()

    async def close(self) -> None:
        await self._model.close()


class _CheckedModel(OnnxFileEmbedder):
    """The model of an encoder; its files are compared with their hashes each time it loads."""

    def __init__(self, folder: Path, about: EncoderAbout, *, threads: int | None) -> None:
        # A folder's name is no path of the settings: nothing in it stands for the home directory.
        config = OnnxConfig.model_construct(
            type="onnx",
            path=folder / MODEL,
            pooling="model",
            max_tokens=about.max_tokens,
            threads=threads,
        )
        super().__init__(config)
        self._about = about
        self._folder = folder

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self._about)

    @property
    def dims(self) -> int:
        return self._about.dims

    def _load_session(self) -> "InferenceSession":
        _require(self._folder / MODEL, self._about.model)
        return super()._load_session()

    def _load_tokenizer(self) -> "Tokenizer":
        _require(self._folder / TOKENIZER, self._about.tokenizer)
        return super()._load_tokenizer()


def _fingerprint(about: EncoderAbout) -> str:
    return f"{about.base}+encoder-{hashlib.sha256(about.to_bytes()).hexdigest()[:16]}"


def _require(path: Path, sha256: str) -> None:
    """Raise ``EmbeddingError`` unless a file is the one that was written."""
    try:
        if path.is_symlink() or path.stat().st_size > MAX_ENCODER_BYTES:
            raise EmbeddingError(f"{path.name} isn't the file of an encoder")
        found = sha256_of(path)
    except OSError as error:
        raise EmbeddingError(f"{path.name} can't be read: {error.strerror}") from error
    if found != sha256:
        raise _changed(path)


def _changed(path: Path) -> EmbeddingError:
    return EmbeddingError(
        f"{path.name} was changed since it was written: its SHA-256 is another one",
        remedy="Delete the checkpoint and train another one, or restore its files.",
    )
