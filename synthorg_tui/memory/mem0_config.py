"""The settings of the backend ``mem0``, and what describes an embedder to it.

They are not with the backend, since the settings of memory are read where no backend may be named.
"""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, field_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr, warn
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig, inside_path

COLLECTION: Final = "synthorg_memories"


class EmbeddingCostConfig(FrozenModel):
    """Whether embeddings are recorded as costs, and what they cost.

    ``model_pricing`` is the price of 1,000 tokens by model; a model without one costs nothing.
    Tokens are estimated: a text has its characters divided by ``default_chars_per_token``.
    """

    enabled: bool = False
    model_pricing: dict[NotBlankStr, Annotated[float, Field(ge=0.0)]] = Field(default_factory=dict)
    default_chars_per_token: int = Field(default=4, ge=1, le=20)


class Mem0BackendConfig(FrozenModel):
    """Settings of the backend ``mem0``.

    ``collection`` is its collection in the embedded Qdrant. ``sparse_search_enabled`` adds search
    by keywords to that by meaning; memories stored without it aren't found by it. ``data_dir`` is
    an absolute POSIX path; ``None`` is the folder ``mem0`` in the data directory.
    """

    collection: NotBlankStr = COLLECTION
    sparse_search_enabled: bool = False
    embedding_cost: EmbeddingCostConfig = EmbeddingCostConfig.model_construct()
    data_dir: NotBlankStr | None = None

    @field_validator("data_dir")
    @classmethod
    def _validate_data_dir(cls, path: str | None) -> str | None:
        return None if path is None else inside_path("mem0.data_dir", path)


class Mem0EmbedderConfig(FrozenModel):
    """The embedding model for the backend ``mem0``, for programs; the app has one already.

    ``provider`` and ``model`` are as ``type`` and its model (for ``gguf`` the path of the file) in
    ``providers.embedding``, ``dims`` is the length of its vectors.
    """

    provider: NotBlankStr
    model: NotBlankStr
    dims: int = Field(default=1536, ge=1)
    fine_tune: EmbeddingFineTuneConfig | None = None

    @property
    def effective_model(self) -> str:
        """The checkpoint's path when fine-tuning is enabled and it exists, else the base model."""
        tuned = self.fine_tune
        if tuned is None or not tuned.enabled or tuned.checkpoint_path is None:
            return self.model
        if Path(tuned.checkpoint_path).exists():
            return tuned.checkpoint_path
        warn("fine_tune.checkpoint_path", tuned.checkpoint_path, "doesn't exist: not used")
        return tuned.base_model or self.model
