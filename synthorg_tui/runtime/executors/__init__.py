"""Other agents that carry out runs where they are installed: Claude Code, Codex and OpenCode."""
