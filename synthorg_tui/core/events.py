"""Tells whoever listens that something changed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Listener = Callable[[str, Any], None]


@dataclass(slots=True)
class Events:
    """Listeners of one store; each is told a topic and what happened, on the event loop."""

    _listeners: list[Listener] = field(default_factory=list)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell ``listener`` from now on; what is returned ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def emit(self, topic: str, data: Any = None) -> None:
        """Tell everyone who listens."""
        for listener in tuple(self._listeners):
            listener(topic, data)
