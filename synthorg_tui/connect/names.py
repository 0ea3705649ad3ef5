"""Names that the command line needs before anything else is loaded."""

from typing import Final

CLIENT_NAMES: Final = ("claude-code", "codex", "cursor", "vscode", "gemini", "opencode")
DIGEST_EVENTS: Final = ("SessionStart", "UserPromptSubmit")
"""Events that are answered with the digest."""
IMPORT_EVENTS: Final = ("Stop", "SessionEnd")
"""Events at which what is new is imported."""
