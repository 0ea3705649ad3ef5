"""Serves one agent's memory over MCP; only the process that does so imports the MCP SDK."""

from typing import Final

DEFAULT_PORT: Final = 7717
"""The port of HTTP unless the person names another."""
