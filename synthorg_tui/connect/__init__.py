"""Connects coding agents to the store: entries in their configuration, hooks and skill links.

Only names that the command line needs before anything else is loaded are defined here.
"""

CLIENT_NAMES = ("claude-code", "codex", "cursor", "vscode", "gemini", "opencode")
DIGEST_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events that are answered with the digest."""
HINT_EVENTS = ("PreToolUse", "PostToolUseFailure")
"""Events of a tool call that are answered with what is known about it: before it, or why it failed.

A Claude Code that doesn't know the second (2.0.50, say) ignores a whole file that names it.
"""
HINT_TOOLS = ("Bash", "Edit", "NotebookEdit", "Read", "Write")
"""Claude Code's tools that there can be a hint for: those that run a command or name a file."""
IMPORT_EVENTS = ("Stop", "SessionEnd")
"""Events at which new lines of the session's transcript are imported."""
HOOK_EVENTS = (*DIGEST_EVENTS, *HINT_EVENTS, *IMPORT_EVENTS)
