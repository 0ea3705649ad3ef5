"""What can go wrong when a skill is written."""

from synthorg_tui.core.errors import DomainError


class SkillPathError(DomainError):
    """A skill would be written outside its root, or over something that isn't a plain file."""


class SkillWriteError(DomainError):
    """The file system refused; the file is as it was."""
