"""Models in ONNX files: loading them with ONNX Runtime, and feeding them with texts.

What an output means is for whoever runs the model.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from synthorg_tui.core.process_setup import give_back_memory
from synthorg_tui.providers.local import ModelRole, default_threads, opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

# Bigger batches aren't faster (a model is bound by arithmetic): they are padded more, and keep a
# query waiting.
_MAX_BATCH = 16
_MAX_BATCH_TOKENS = 256


def load_runtime() -> ModuleType:
    """Import ONNX Runtime with telemetry disabled and return it; takes 0.2 s the first time."""
    # It reports its use to its makers unless it is told not to before it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # Its binary part imports a submodule of NumPy, and doesn't wait, as a plain import does, for a
    # thread that is importing NumPy: both imports then fail, and so does each later one.
    import numpy  # noqa: F401
    import onnxruntime

    runtime: ModuleType = onnxruntime
    return runtime


class OnnxModel:
    """A model and its tokenizer, loaded together when they are first needed.

    Args:
        load_session: Opens the model.
        load_tokenizer: Reads the tokenizer, meanwhile.
    """

    def __init__(
        self,
        load_session: "Callable[[], InferenceSession]",
        load_tokenizer: "Callable[[], Tokenizer]",
    ) -> None:
        self._load_session = load_session
        self._load_tokenizer = load_tokenizer
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None
        self._loading = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether both are in memory."""
        return self._loaded is not None

    def load(self) -> "tuple[Tokenizer, InferenceSession]":
        """Return both, loaded now unless they are in memory; raises what loading them raises."""
        with self._loading:
            if self._loaded is None:
                # The runtime prepares its graph outside the interpreter's lock, tokenizers don't.
                with ThreadPoolExecutor(max_workers=1) as beside:
                    session = beside.submit(self._load_session)
                    tokenizer = self._load_tokenizer()
                    self._loaded = tokenizer, session.result()
                give_back_memory()  # what it took to read the model is as much as the model
            return self._loaded

    def unload(self) -> None:
        """Free both."""
        self._loaded = None


def open_session(path: Path, threads: int | None) -> "InferenceSession":
    """Open a model that is known to be one; raises whatever the runtime does."""
    onnxruntime = load_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or default_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin while they wait take the processor from the app's own thread.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena keeps the largest batch's memory for good and gains no speed; given the path
    # instead of the bytes, the runtime holds no second copy of the model. Together 60 MB.
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def open_file(path: Path, threads: int | None, role: ModelRole) -> "InferenceSession":
    """Open a model that a person named; raises the error of the role."""
    with opened(path, role):
        pass
    try:
        return open_session(path, threads)
    except Exception as error:  # the runtime has a class of its own for each failure
        raise role.unusable(path, f"ONNX Runtime can't load it: {error}") from error


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of positions in ``lengths``, grouping texts of similar length, longest first.

    Texts in a batch are padded to its longest, so that similar lengths waste the least computation.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        widest = lengths[batch[0]] if batch else 0
        full = len(batch) == _MAX_BATCH or (len(batch) + 1) * widest > _MAX_BATCH_TOKENS
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def feeds_of(
    encodings: "Sequence[Encoding]", *, pairs: bool = False
) -> "dict[str, NDArray[np.int64]]":
    """Return the inputs of a model for a batch of texts, padded to the longest.

    ``pairs`` are told which of their tokens belong to the second text.
    """
    import numpy as np

    shape = (len(encodings), max(len(e.ids) for e in encodings))
    ids = np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    types = np.zeros(shape, dtype=np.int64)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
        if pairs:
            types[row, : len(encoding.ids)] = encoding.type_ids
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def inputs_of(
    session: "InferenceSession",
    feeds: "dict[str, NDArray[np.int64]]",
    path: Path,
    role: ModelRole,
) -> "dict[str, NDArray[np.int64]]":
    """Return those of the feeds that a model takes, and positions if it takes them.

    Raises the error of the role when it wants anything else.
    """
    import numpy as np

    mask = feeds["attention_mask"]
    known = feeds | {"position_ids": np.arange(mask.shape[1])[None].repeat(len(mask), axis=0)}
    names = [each.name for each in session.get_inputs()]
    if unknown := sorted(set(names) - set(known)):
        raise role.unusable(path, f"it wants {', '.join(unknown)}, which no text has")
    return {name: known[name] for name in names}
