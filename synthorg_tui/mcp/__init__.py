"""The memory of one agent as an MCP server; only the process that serves it imports the SDK."""
