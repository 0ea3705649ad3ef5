"""Loads llama.cpp models so that they neither write to the terminal nor crash the process."""

import contextlib
import ctypes
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_silent_log: Any = None


def load_llama(
    path: Path, *, goes_on: Callable[[float], bool] | None = None, **options: Any
) -> Any:
    """Load a GGUF file and return its ``llama_cpp.Llama``.

    ``goes_on`` is called repeatedly with the loaded share (0 to 1) and cancels loading by returning
    ``False``. ``options`` are passed to the constructor of ``Llama``. Raises ``ImportError`` when
    llama.cpp isn't installed and ``ValueError`` when the file can't be loaded or loading was
    cancelled.
    """
    import llama_cpp

    with _lock, _parameters(goes_on):
        _silence(llama_cpp)
        # Quiet mode points file descriptors 1 and 2 at /dev/null while it loads, which would
        # swallow what the app draws meanwhile; so: verbose, with Python's stderr set aside.
        with contextlib.redirect_stderr(io.StringIO()):
            model = llama_cpp.Llama(model_path=str(path), verbose=True, **options)
        model.verbose = False
        return model


def _silence(llama_cpp: Any) -> None:
    global _silent_log
    if _silent_log is None:  # the callback must outlive every model
        _silent_log = llama_cpp.llama_log_callback(lambda _level, _text, _data: None)
    llama_cpp.llama_log_set(_silent_log, ctypes.c_void_p(0))


@contextlib.contextmanager
def _parameters(goes_on: Callable[[float], bool] | None) -> Iterator[None]:
    """What ``Llama`` has no options for, while a model is loaded.

    Weights stay in plain buffers: llama.cpp repacks them for AMX when the processor has it, and
    dies of an illegal instruction where a virtual machine doesn't let it use AMX.
    """
    from llama_cpp import llama_cpp as bindings

    original = bindings.llama_model_default_params
    callback = None
    if goes_on is not None:
        ask = goes_on  # the callback must live as long as the loading
        callback = bindings.llama_progress_callback(lambda share, _data: bool(ask(share)))

    def parameters() -> Any:
        params = original()
        params.use_extra_bufts = False
        if callback is not None:
            params.progress_callback = callback
        return params

    bindings.llama_model_default_params = parameters
    try:
        yield
    finally:
        bindings.llama_model_default_params = original
