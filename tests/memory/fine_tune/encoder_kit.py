"""A small sentence-transformers model in a folder, and an embedder that gives the same vectors.

The model is a BERT whose layers add nothing until they are trained: a text's vector is the mean of
those of its words, which numpy can tell, too.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synthorg_tui.engine import Engine
from synthorg_tui.memory.fine_tune.models import FineTunePlan, FineTuneTrainer
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.settings.root import RootConfig
from tests.memory.fine_tune.tuning_kit import TERMS, plan
from tests.providers.model_files import write_safetensors, write_tokenizer

WIDE = 32
LAYERS = 2
WORDS = (
    "[UNK]", "[CLS]", "[SEP]", "[PAD]",
    *(f"term{each}" for each in range(TERMS)), *(f"alias{each}" for each in range(TERMS)),
)  # fmt: skip
TABLE = np.random.default_rng(5).normal(size=(len(WORDS), WIDE)).astype(np.float32)
"""The vector of each word."""
LONGEST = 16


def write_model(folder: Path, table: Vectors = TABLE) -> Path:
    """Write the model to a new folder and return that; ``table`` has the vector of each word."""
    folder.mkdir(parents=True)
    kinds = (("Transformer", ""), ("Pooling", "1_Pooling"))
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(kinds)
    ]
    _write(folder / "modules.json", modules)
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": WIDE, "pooling_mode_mean_tokens": True}
    _write(folder / "1_Pooling" / "config.json", pooling)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": LONGEST})
    _write(folder / "config.json", _CONFIG)
    marks = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LONGEST}
    _write(folder / "tokenizer_config.json", {**marks, **kind, "pad_token": "[PAD]"})
    write_tokenizer(folder, WORDS)
    write_safetensors(folder / "model.safetensors", weights(table))
    return folder


_CONFIG: dict[str, Any] = {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_size": WIDE,
    "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 2 * WIDE,
    "max_position_embeddings": LONGEST, "type_vocab_size": 2, "vocab_size": len(WORDS),
    "pad_token_id": 3, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "torch_dtype": "float32",
}  # fmt: skip


def weights(table: Vectors) -> dict[str, Vectors]:
    """Return the tensors of the model; what would add to the words is zero."""
    random = np.random.default_rng(6)
    wide, inner = WIDE, 2 * WIDE
    found: dict[str, NDArray[Any]] = {
        "embeddings.word_embeddings.weight": table,
        "embeddings.position_embeddings.weight": np.zeros((LONGEST, wide)),
        "embeddings.token_type_embeddings.weight": np.zeros((2, wide)),
        "pooler.dense.weight": np.zeros((wide, wide)),
        "pooler.dense.bias": np.zeros(wide),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        shapes = {
            "attention.self.query": (wide, wide), "attention.self.key": (wide, wide),
            "attention.self.value": (wide, wide), "attention.output.dense": (wide, wide),
            "intermediate.dense": (inner, wide), "output.dense": (wide, inner),
        }  # fmt: skip
        for name, shape in shapes.items():
            scale = 0.0 if "output" in name else 0.1
            found[f"{at}.{name}.weight"] = random.normal(size=shape) * scale
            found[f"{at}.{name}.bias"] = np.zeros(shape[0])
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for name in norms:
        found |= {f"{name}.weight": np.ones(wide), f"{name}.bias": np.zeros(wide)}
    return {name: each.astype(np.float32) for name, each in found.items()}


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


class TableEmbedder:
    """Gives texts the vectors of the model before it is trained."""

    dims = WIDE
    fingerprint = "table-1"
    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    async def unload(self) -> None: ...

    async def close(self) -> None: ...

    def _vector(self, text: str) -> Vectors:
        known = [WORDS.index(word) if word in WORDS else 0 for word in text.lower().split()]
        rows = TABLE[[1, *known[: LONGEST - 2], 2]]
        centred = rows - rows.mean(axis=1, keepdims=True)
        mean = (centred / centred.std(axis=1, keepdims=True)).mean(axis=0)
        unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
        return unit


@asynccontextmanager
async def engine_on(data_dir: Path) -> AsyncIterator[Engine]:
    opening = Engine.open(RootConfig(), data_dir=data_dir, embedder=TableEmbedder())
    async with opening as engine:
        yield engine


def encoder_plan(place: Path, **values: object) -> FineTunePlan:
    own = {"learning_rate": 0.01, "epochs": 6, "batch_size": 32, "temperature": 0.05}
    named = {"trainer": FineTuneTrainer.CONTRASTIVE, "base_model": str(place / "model")}
    return plan(place / "source", **{**own, **named, **values})
