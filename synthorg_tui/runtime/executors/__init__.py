"""Agents of others that carry out runs: Claude Code, Codex and OpenCode, where they are installed.

``installed_executors`` is the way in.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthorg_tui.runtime.executors.executor import ClientParts
    from synthorg_tui.runtime.protocol import RunExecutor


def installed_executors(parts: "ClientParts | None" = None) -> "Mapping[str, RunExecutor]":
    """Return an executor for each agent that is known, by name; each tells whether it can run.

    Nothing is looked for before one is asked. Without ``parts`` runs are given no memories, and
    nothing that they leave is kept or imported.
    """
    from synthorg_tui.runtime.executors.clients import CLIENTS
    from synthorg_tui.runtime.executors.executor import ClientExecutor, ClientParts

    shared = parts or ClientParts()
    return {client.name: ClientExecutor(client, shared) for client in CLIENTS}
