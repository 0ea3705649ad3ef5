"""The embedders that are compared: the active one first, the bundled one, and those that are named.

An embedder is named as in the settings, on one line: its type, and after a colon its fields, as
``gguf:path=~/models/some.gguf,pooling=cls``. Whatever type the settings know can be named so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import safe_text
from synthorg_tui.providers.embedding.config import EmbeddingConfig, MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder

MAX_EMBEDDERS: Final = 8
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_REMEDY: Final = (
    "Name it as in the settings, such as `minilm`, `gguf:path=FILE,pooling=cls` or "
    "`openai:base_url=http://localhost:11434/v1,model=NAME,dims=768`."
)


class EmbedderNameError(DomainError):
    """A text names no embedder; the message says what is wrong with it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Contender:
    """An embedder to be tried, not made yet.

    ``runs_here`` is whether its model takes this process's memory.
    """

    name: str
    is_active: bool
    runs_here: bool
    make: Callable[[], Embedder]


def parse_embedder(text: str) -> EmbeddingConfig:
    """Return the configuration that a line names; raises ``EmbedderNameError``."""
    kind, _, fields = text.partition(":")
    values: dict[str, str] = {"type": kind.strip()}
    for field in (part for part in fields.split(",") if part.strip()):
        name, given, value = field.partition("=")
        if not given:
            raise EmbedderNameError(f"{safe_text(field)!r} isn't NAME=VALUE", remedy=_REMEDY)
        values[name.strip()] = value  # blanks at its end may be meant, as those of a prefix
    try:
        return TypeAdapter[EmbeddingConfig](EmbeddingConfig).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"][1:]))
        told = f"{place}: {first['msg']}" if place else first["msg"]
        raise EmbedderNameError(
            f"{safe_text(text)!r} names no embedder: {safe_text(told)}", remedy=_REMEDY
        ) from error


def name_of(config: EmbeddingConfig) -> str:
    """Return a configuration as a person tells it from others: what it is, and what was chosen.

    What is as by default is left out, and so are keys.
    """
    chosen = config.model_dump(mode="json", exclude_defaults=True)
    chosen.pop("type", None)
    chosen.pop("api_key_env", None)
    told = [
        short_path(str(value)) if name == "path" else str(value) for name, value in chosen.items()
    ]
    return safe_text(" ".join([config.type, *told]))


def sends_to(config: EmbeddingConfig) -> str:
    """Return the other machine that texts are sent to with a configuration; mostly empty."""
    url = getattr(config, "base_url", None)
    host = urlsplit(str(url)).hostname if url else None
    return "" if host is None or host in _LOCAL else host


def contenders(
    active: EmbeddingConfig,
    named: Sequence[str],
    make: Callable[[EmbeddingConfig], Embedder] = create_embedder,
) -> tuple[Contender, ...]:
    """Return the active embedder, the bundled one and those that are named, each once.

    ``make`` makes an embedder of a configuration. Raises ``EmbedderNameError``, also when there are
    more than ``MAX_EMBEDDERS``.
    """
    configs = [active, MiniLMConfig(), *map(parse_embedder, named)]
    known: list[EmbeddingConfig] = []
    for config in configs:
        if config not in known:
            known.append(config)
    if len(known) > MAX_EMBEDDERS:
        raise EmbedderNameError(
            f"{len(known)} embedders are too many at once",
            remedy=f"Name fewer than {MAX_EMBEDDERS}.",
        )
    return tuple(
        Contender(
            name=name_of(config),
            is_active=config == active,
            runs_here=not hasattr(config, "base_url"),
            make=partial(make, config),
        )
        for config in known
    )
