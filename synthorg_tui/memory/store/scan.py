"""Ranks memories without the index, by reading all that a filter allows.

``scan`` is used while the index can't be opened, as on a full disk; it takes about .15 ms a memory
of 280 characters. Scores mean the same as the index's, so that relevance is decided in the same
way. Searches of what the index doesn't contain use the parts.
"""

import math
from collections import Counter

from synthorg_tui.memory.index.protocol import IndexHit, IndexHits, SparseVector
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.persistence.port import Connection
from synthorg_tui.providers.embedding.protocol import Vectors


def scan(
    db: Connection,
    where: WhereClause,
    *,
    fingerprint: str,
    tokenizer: BM25Tokenizer,
    dense: Vectors | None,
    sparse: SparseVector,
    limit: int,
) -> IndexHits:
    """Return both rankings of the memories that ``where`` allows, at most ``limit`` in each.

    ``fingerprint`` names the embedder of ``dense``; ``None`` leaves that ranking empty.
    """
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.content, v.vector FROM memories m LEFT JOIN vectors v "
        f"ON v.memory_id = m.id AND v.fingerprint = ? WHERE {where}",
        [fingerprint, *where.values],
    ).fetchall()
    vectors = {key: vector for key, _, vector in rows if vector is not None}
    texts = {key: content for key, content, _ in rows}
    return IndexHits(
        () if dense is None else best(cosines(vectors, dense), limit),
        best(weights(texts, tokenizer, sparse), limit),
    )


def cosines(vectors: dict[str, bytes], dense: Vectors) -> dict[str, float]:
    """Return the cosine similarity of each stored vector to ``dense``."""
    if not vectors:
        return {}
    import numpy as np

    matrix = np.frombuffer(b"".join(vectors.values()), np.float32).reshape(len(vectors), -1)
    return dict(zip(vectors, (matrix @ dense).tolist(), strict=True))


def weights(
    texts: dict[str, str], tokenizer: BM25Tokenizer, sparse: SparseVector
) -> dict[str, float]:
    """Return the BM25 score of each text that has any term of the query ``sparse``."""
    asked = dict(zip(sparse.indices, sparse.values, strict=True))
    found: dict[str, dict[int, float]] = {}
    for key, text in texts.items():
        terms = tokenizer.encode_document(text)
        pairs = zip(terms.indices, terms.values, strict=True)
        if held := {index: value for index, value in pairs if index in asked}:
            found[key] = held
    holding = Counter(index for held in found.values() for index in held)
    rarity = {
        index: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))
        for index, count in holding.items()
    }
    return {
        key: sum(asked[index] * value * rarity[index] for index, value in held.items())
        for key, held in found.items()
    }


def best(scores: dict[str, float], limit: int) -> tuple[IndexHit, ...]:
    """Return the ``limit`` highest scores as a ranking; equal ones in their order."""
    ranked = sorted(scores.items(), key=lambda each: -each[1])[:limit]
    return tuple(IndexHit(key, score) for key, score in ranked)
