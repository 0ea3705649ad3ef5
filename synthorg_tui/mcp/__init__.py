"""The memory of one agent as an MCP server; only the process that serves it imports the SDK."""

from typing import Final

DEFAULT_PORT: Final = 7717
"""Where HTTP is served unless the person says otherwise."""
