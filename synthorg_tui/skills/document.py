"""A skill as a document, and what can be wrong with its file.

What can go wrong when a skill is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from synthorg_tui.core.errors import DomainError


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """What a SKILL.md of ours says.

    ``name`` is the folder's. ``heading`` to ``evidence`` are the body that we write; a file of
    somebody else's has only ``body``, its markdown as it stands.
    """

    name: str
    description: str
    heading: str = ""
    condition: str = ""
    action: str = ""
    rationale: str = ""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    body: str = ""


class Severity(StrEnum):
    """Whether a finding makes the file unusable."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a file: its 1-based line, what it is, and what to do about it."""

    line: int
    severity: Severity
    message: str
    remedy: str

    @property
    def is_error(self) -> bool:
        """Whether it makes the file unusable."""
        return self.severity is Severity.ERROR


class RootScope(StrEnum):
    """Whose skills a root holds; a project's come before a user's, and those before ours."""

    PROJECT = "project"
    USER = "user"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A folder that holds skills, each in a folder of its own.

    ``project`` is the folder of the project that a ``PROJECT`` root belongs to.
    """

    path: Path
    scope: RootScope
    project: Path | None = None


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A SKILL.md as it is on disk now.

    ``document`` is ``None`` when it can't be used; ``sha256`` is of the bytes (hex).
    ``shadowed_by`` is the file of the same name in a root that comes first.
    """

    root: SkillRoot
    name: str
    path: Path
    sha256: str
    text: str
    document: SkillDocument | None
    findings: tuple[Finding, ...] = ()
    shadowed_by: Path | None = None


@dataclass(frozen=True, slots=True)
class SkillChange:
    """What became of one file: it is new without ``before``, and gone without ``after``."""

    before: SkillFile | None
    after: SkillFile | None


class SkillPathError(DomainError):
    """A skill would be written outside its root, or over something that isn't a plain file."""


class SkillWriteError(DomainError):
    """The file system refused; the file is as it was."""
