"""Small real model files, made for tests: ONNX, safetensors and their tokenizers."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = ("[UNK]", "[CLS]", "[SEP]", "apple", "pear", "bolt", "nut", "query", "passage", ":")
"""The vocabulary; a word's id is its place."""
TABLE = np.random.default_rng(1).normal(size=(len(WORDS), 4)).astype(np.float32)
"""The vector of each word."""

_TYPES = {"float32": "F32", "float16": "F16", "int64": "I64", "uint8": "U8"}
_FLOAT, _INT = 1, 7
_INTS_ATTRIBUTE = 7


def write_tokenizer(folder: Path, words: Sequence[str] = WORDS) -> None:
    """Write a tokenizer of whole words that stands ``[CLS]`` and ``[SEP]`` around a text.

    Between two texts there is another ``[SEP]``; the second and what follows it have type 1.
    """
    marks = [{"SpecialToken": {"id": mark, "type_id": 0}} for mark in ("[CLS]", "[SEP]")]
    text: dict[str, Any] = {"Sequence": {"id": "A", "type_id": 0}}
    second: list[dict[str, Any]] = [
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ]
    template = {
        "type": "TemplateProcessing",
        "single": [marks[0], text, marks[1]],
        "pair": [marks[0], text, marks[1], *second],
        "special_tokens": {
            mark: {"id": mark, "ids": [WORDS.index(mark)], "tokens": [mark]}
            for mark in ("[CLS]", "[SEP]")
        },
    }
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": template,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: place for place, word in enumerate(words)},
            "unk_token": "[UNK]",
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors in the format of safetensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    body = b""
    for name, tensor in tensors.items():
        content = tensor.tobytes()
        place = [len(body), len(body) + len(content)]
        kind = _TYPES[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": place}
        body += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def write_onnx(path: Path, *, per_text: bool = False, wants: str = "attention_mask") -> None:
    """Write a model that gives each token its vector of ``TABLE``, or each text their sum.

    ``wants`` is the name of an input beside the tokens.
    """
    looked_up = "sums" if per_text else "hidden"
    nodes = [_node("Gather", ("table", "input_ids"), "looked_up", {})]
    if per_text:
        axes = _tensor("axes", _INT, (1,), np.array([1], dtype=np.int64).tobytes())
        nodes.append(_node("ReduceSum", ("looked_up", "axes"), looked_up, {"keepdims": 0}))
    else:
        axes = b""
        nodes.append(_node("Identity", ("looked_up",), looked_up, {}))
    table = _tensor("table", _FLOAT, TABLE.shape, TABLE.tobytes())
    rank = 2 if per_text else 3
    graph = (
        b"".join(_bytes(1, node) for node in nodes)
        + _bytes(2, b"g")
        + _bytes(5, table)
        + (_bytes(5, axes) if axes else b"")
        + b"".join(_bytes(11, _value(name, _INT, 2)) for name in ("input_ids", wants))
        + _bytes(12, _value(looked_up, _FLOAT, rank))
    )
    opset = _bytes(8, _number(2, 13))
    path.write_bytes(_number(1, 8) + _bytes(7, graph) + opset)


def write_pair_onnx(path: Path, *, row: Sequence[float] = (1.0,), wants: str = "") -> None:
    """Write a cross-encoder whose score is how often two texts have the same token.

    The ``[SEP]`` behind each makes one more. Each number of ``row`` gives a column of the output,
    which is the score times that number. ``wants`` is the name of one more input, unused.
    """
    steps: list[tuple[str, tuple[str, ...], str, dict[str, int]]] = [
        ("Cast", ("token_type_ids",), "second", {"to": _FLOAT}),
        ("Cast", ("attention_mask",), "read", {"to": _FLOAT}),
        ("Sub", ("read", "second"), "first", {}),
        ("Unsqueeze", ("input_ids", "at_1"), "across", {}),
        ("Unsqueeze", ("input_ids", "at_2"), "down", {}),
        ("Equal", ("down", "across"), "same", {}),
        ("Cast", ("same",), "shared", {"to": _FLOAT}),
        ("Unsqueeze", ("first", "at_1"), "first_row", {}),
        ("Unsqueeze", ("second", "at_2"), "second_column", {}),
        ("MatMul", ("first_row", "shared"), "counted", {}),
        ("MatMul", ("counted", "second_column"), "boxed", {}),
        ("Squeeze", ("boxed", "at_2"), "score", {}),
        ("MatMul", ("score", "row"), "logits", {}),
    ]
    inputs = ("input_ids", "attention_mask", "token_type_ids", wants)
    numbers = np.array([row], dtype=np.float32)
    constants = [
        _tensor("at_1", _INT, (1,), np.array([1], dtype=np.int64).tobytes()),
        _tensor("at_2", _INT, (1,), np.array([2], dtype=np.int64).tobytes()),
        _tensor("row", _FLOAT, numbers.shape, numbers.tobytes()),
    ]
    graph = (
        b"".join(_bytes(1, _node(*step)) for step in steps)
        + _bytes(2, b"g")
        + b"".join(_bytes(5, constant) for constant in constants)
        + b"".join(_bytes(11, _value(name, _INT, 2)) for name in inputs if name)
        + _bytes(12, _value("logits", _FLOAT, 2))
    )
    path.write_bytes(_number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 13)))


def _node(kind: str, inputs: Sequence[str], output: str, numbers: Mapping[str, int]) -> bytes:
    attributes = (
        _bytes(5, _bytes(1, name.encode()) + _number(3, value) + _number(20, 2))
        for name, value in numbers.items()
    )
    named = b"".join(_bytes(1, name.encode()) for name in inputs)
    return named + _bytes(2, output.encode()) + _bytes(4, kind.encode()) + b"".join(attributes)


def _tensor(name: str, kind: int, shape: Sequence[int], content: bytes) -> bytes:
    dims = b"".join(_number(1, size) for size in shape)
    return dims + _number(2, kind) + _bytes(8, name.encode()) + _bytes(9, content)


def _value(name: str, kind: int, rank: int) -> bytes:
    free = b"".join(_bytes(1, _bytes(2, f"d{axis}".encode())) for axis in range(rank))
    tensor = _number(1, kind) + _bytes(2, free)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
