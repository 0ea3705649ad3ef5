"""Notifies listeners of one store that something changed."""

from collections.abc import Callable
from typing import Any

Listener = Callable[[str, Any], None]


class Events:
    """Listeners of one store; each gets a topic and what happened, on the event loop."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Notify ``listener`` from now on; what is returned ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def emit(self, topic: str, data: Any = None) -> None:
        """Notify every listener."""
        for listener in tuple(self._listeners):
            listener(topic, data)
