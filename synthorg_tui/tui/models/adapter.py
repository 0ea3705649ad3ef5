"""What the Models screen asks of the engine, and what it remembers while the app is open.

The app starts without the engine, so what loads it is imported inside. What is named here is given
all memories that are tried, so nothing can be named where an agent runs the app.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.core.paths import expand_home, short_path

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.evaluation.contenders import Contender
    from synthorg_tui.memory.evaluation.report import ComparisonReport


class ChosenModel(NamedTuple):
    """Something to be tried: an embedder with or without a re-ranker, or a file to ask about.

    ``named`` is as a person named it, empty for what is always tried.
    """

    name: str
    named: str = ""
    is_active: bool = False
    is_file: bool = False


class ModelDesk:
    """The embedders and re-rankers to try, and the latest report. Failures are ``DomainError``.

    ``engine`` returns the open engine, or raises.
    """

    def __init__(self, engine: "Callable[[], Engine]") -> None:
        self._engine = engine
        self._named: list[str] = []
        self._rerankers: list[str] = []
        self._files: list[Path] = []
        self.report: ComparisonReport | None = None

    def chosen(self) -> tuple[ChosenModel, ...]:
        """Return what would be tried now: the active embedder first, files last."""
        tried = self._tried(self._named, self._rerankers)
        models = [ChosenModel(each.name, each.named, each.is_active) for each in tried]
        files = [ChosenModel(short_path(str(f)), str(f), is_file=True) for f in self._files]
        return (*models, *files)

    def _tried(self, named: list[str], rerankers: list[str]) -> "tuple[Contender, ...]":
        from synthorg_tui.memory.evaluation.contenders import contenders

        settings = self._engine().settings
        return contenders(
            settings.embedding(), named, reranking=settings.reranking(), rerankers=rerankers
        )

    def add(self, text: str) -> None:
        """Try an embedder or a re-ranker, too, or ask about the conversations of a file.

        A re-ranker has ``reranker`` before its name. Raises ``EmbedderNameError``, and
        ``DecisionRefusedError`` where an agent runs the app.
        """
        from synthorg_tui.memory.evaluation.contenders import RERANKER_WORD
        from synthorg_tui.tui.approvals.adapter import person

        person()
        path = expand_home(text)
        if path.suffix == ".json" and path.is_file():
            self._files.append(path.absolute())
            return
        named, rerankers = list(self._named), list(self._rerankers)
        if text.startswith(RERANKER_WORD):
            rerankers.append(text.removeprefix(RERANKER_WORD).strip())
        else:
            named.append(text)
        self._tried(named, rerankers)
        self._named, self._rerankers = named, rerankers

    def remove(self, chosen: ChosenModel) -> None:
        """Try it no more; what is always tried stays."""
        from synthorg_tui.memory.evaluation.contenders import RERANKER_WORD

        self._named = [each for each in self._named if each != chosen.named]
        self._rerankers = [e for e in self._rerankers if RERANKER_WORD + e != chosen.named]
        self._files = [each for each in self._files if str(each) != chosen.named]

    def hosts(self) -> tuple[str, ...]:
        """Return the other machines that memories would be sent to, besides the configured one."""
        from synthorg_tui.memory.evaluation.contenders import parse_embedder, sends_to

        return tuple(sorted({host for t in self._named if (host := sends_to(parse_embedder(t)))}))

    async def run(
        self, *, progress: Callable[[int, int, str], None], cancel: threading.Event
    ) -> "ComparisonReport":
        """Try what is chosen, and remember the report."""
        from synthorg_tui.memory.evaluation.comparing import ComparisonPlan

        plan = ComparisonPlan(
            embedders=tuple(self._named),
            rerankers=tuple(self._rerankers),
            files=tuple(self._files),
        )
        self.report = await self._engine().comparison.run(plan, progress=progress, cancel=cancel)
        return self.report
