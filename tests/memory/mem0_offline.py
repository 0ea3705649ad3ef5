"""Uses the backend mem0 where every call to the network, and every fetching of a model, is told.

Run by a test in a process of its own, with the folder to use.
"""

import asyncio
import sys
import types
from pathlib import Path

CALLED: list[str] = []


def told(event: str, args: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"}:
        CALLED.append(f"{event} {args}")
        raise PermissionError(event)


class Fetching(types.ModuleType):
    """A package that fetches a model as soon as anything of it is made."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)

        def fetch(*args: object, **kwargs: object) -> None:
            CALLED.append(f"{self.__name__}.{name}")
            raise OSError(name)

        methods = {"__init__": fetch, "list_supported_models": staticmethod(lambda: [name])}
        return type(name, (), methods)


async def main(folder: Path) -> None:
    from synthorg_tui.core.enums import MemoryCategory
    from synthorg_tui.memory.config import CompanyMemoryConfig
    from synthorg_tui.memory.factory import BackendContext, create_memory_backend
    from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
    from synthorg_tui.providers.embedding.config import MiniLMConfig
    from synthorg_tui.providers.embedding.factory import create_embedder

    embedder = create_embedder(MiniLMConfig())
    context = BackendContext(data_dir=folder, embedder=embedder)
    backend = create_memory_backend(CompanyMemoryConfig(backend="mem0"), context=context)
    await backend.connect()
    request = MemoryStoreRequest(
        category=MemoryCategory.EPISODIC, content="In 2024 Ada Lovelace moved to Berlin."
    )
    memory_id = await backend.store("ada", request)
    found = await backend.retrieve("ada", MemoryQuery(text="When did Ada Lovelace move?"))
    await backend.delete("ada", memory_id)
    await backend.disconnect()
    print(f"{len(found)} found, {CALLED or 'nobody called'}".replace("['", "").replace("']", ""))


if __name__ == "__main__":
    sys.addaudithook(told)
    for name in ("fastembed", "spacy"):
        sys.modules[name] = Fetching(name)
    asyncio.run(main(Path(sys.argv[1])))
