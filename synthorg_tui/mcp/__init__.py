"""The memory of one agent as an MCP server; only the process that serves it imports the SDK."""

from typing import Final

DEFAULT_PORT: Final = 7717
"""The port of HTTP unless the person names another."""
