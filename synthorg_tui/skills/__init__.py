"""Skills as files: the Agent Skills format, and the folders that hold SKILL.md files."""

from pathlib import Path

from synthorg_tui.core.types import FrozenModel


class SkillsConfig(FrozenModel):
    """Where skills are looked for besides our own folder.

    ``project_roots`` are relative to each project that memories come from, ``user_roots`` may
    start with ``~``. ``watch`` reviews what changes there while the app runs.
    """

    project_roots: tuple[Path, ...] = (Path(".agents/skills"), Path(".claude/skills"))
    user_roots: tuple[Path, ...] = (Path("~/.agents/skills"), Path("~/.claude/skills"))
    watch: bool = True
