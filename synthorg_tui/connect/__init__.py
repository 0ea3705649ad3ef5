"""Connects coding agents to the store: entries in their configuration, hooks and skill links.

Only names that the command line needs before anything else is loaded are defined here.
"""

CLIENT_NAMES = ("claude-code", "codex", "cursor", "vscode", "gemini", "opencode")
DIGEST_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events that are answered with the digest."""
IMPORT_EVENTS = ("Stop", "SessionEnd")
"""Events at which new lines of the session's transcript are imported."""
