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
    from synthorg_tui.memory.evaluation.report import ComparisonReport


class ChosenModel(NamedTuple):
    """Something to be tried: an embedder, or a file whose conversations are asked about.

    ``named`` is as a person named it, empty for what is always tried.
    """

    name: str
    named: str = ""
    is_active: bool = False
    is_file: bool = False


class ModelDesk:
    """The embedders to try, and the latest report. Failures are ``DomainError``.

    ``engine`` returns the open engine, or raises.
    """

    def __init__(self, engine: "Callable[[], Engine]") -> None:
        self._engine = engine
        self._named: list[str] = []
        self._files: list[Path] = []
        self.report: ComparisonReport | None = None

    def chosen(self) -> tuple[ChosenModel, ...]:
        """Return what would be tried now: the active embedder first, files last."""
        from synthorg_tui.memory.evaluation.contenders import contenders, name_of, parse_embedder

        named = {name_of(parse_embedder(text)): text for text in self._named}
        tried = contenders(self._engine().settings.embedding(), self._named)
        models = [
            ChosenModel(
                each.name, "" if each.is_active else named.get(each.name, ""), each.is_active
            )
            for each in tried
        ]
        files = [ChosenModel(short_path(str(f)), str(f), is_file=True) for f in self._files]
        return (*models, *files)

    def add(self, text: str) -> None:
        """Try an embedder, too, or ask about the conversations of a file.

        Raises ``EmbedderNameError``, and ``DecisionRefusedError`` where an agent runs the app.
        """
        from synthorg_tui.memory.evaluation.contenders import contenders, parse_embedder
        from synthorg_tui.tui.approvals.adapter import person

        person()
        path = expand_home(text)
        if path.suffix == ".json" and path.is_file():
            self._files.append(path.absolute())
            return
        parse_embedder(text)
        contenders(self._engine().settings.embedding(), [*self._named, text])
        self._named.append(text)

    def remove(self, chosen: ChosenModel) -> None:
        """Try it no more; what is always tried stays."""
        self._named = [each for each in self._named if each != chosen.named]
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

        plan = ComparisonPlan(embedders=tuple(self._named), files=tuple(self._files))
        self.report = await self._engine().comparison.run(plan, progress=progress, cancel=cancel)
        return self.report
