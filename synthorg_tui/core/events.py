"""Notifies listeners of one store that something changed."""

from collections.abc import Callable
from typing import Any

Listener = Callable[[str, Any], None]


class Events:
    """Publish and subscribe within one process: notifies listeners of changes to one store.

    A listener is called with a topic and the data of the event. Everything runs on the event loop,
    so this class is not thread-safe.
    """

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Register ``listener`` for all topics and return a function that unregisters it."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def emit(self, topic: str, data: Any = None) -> None:
        """Call every listener with ``topic`` and ``data``, in the order of registration."""
        for listener in tuple(self._listeners):
            listener(topic, data)
