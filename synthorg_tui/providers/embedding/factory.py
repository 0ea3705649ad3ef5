"""Configuration in, embedder out."""

from synthorg_tui.providers.embedding.cache import QueryCache
from synthorg_tui.providers.embedding.config import EmbeddingConfig, GgufConfig, MiniLMConfig
from synthorg_tui.providers.embedding.protocol import Embedder


def create_embedder(config: EmbeddingConfig) -> Embedder:
    """The embedder that ``config`` describes, with a query cache; nothing is loaded yet."""
    return QueryCache(_create(config))


def load_library(config: EmbeddingConfig) -> None:
    """Load the library that runs the model in this process, if that is where it runs."""
    if isinstance(config, MiniLMConfig):
        from synthorg_tui.providers.embedding.onnx import load_runtime

        load_runtime()


def _create(config: EmbeddingConfig) -> Embedder:
    if isinstance(config, MiniLMConfig):
        from synthorg_tui.providers.embedding.onnx import MiniLMEmbedder

        return MiniLMEmbedder(config)
    if isinstance(config, GgufConfig):
        from synthorg_tui.providers.embedding.gguf import GgufEmbedder

        return GgufEmbedder(config)
    from synthorg_tui.providers.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(config)
