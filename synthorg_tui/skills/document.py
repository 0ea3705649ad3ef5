"""The plain data of skills: a document, its file, its root, and what can be wrong with either.

Everything else in this package turns one of these into another. No parsing, no file access and no
Textual or pydantic belong here, so that screens can use these classes as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from synthorg_tui.core.errors import DomainError


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """The content of a SKILL.md.

    ``name`` is the folder's. ``heading`` to ``evidence`` are the sections of a file that this
    program wrote; any other file has only ``body``, its markdown unchanged.
    """

    name: str
    description: str
    heading: str = ""
    condition: str = ""
    action: str = ""
    rationale: str = ""
    check: str = ""
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
    """A problem of a file: its 1-based line, what is wrong, and what to do about it."""

    line: int
    severity: Severity
    message: str
    remedy: str

    @property
    def is_error(self) -> bool:
        """Whether it makes the file unusable."""
        return self.severity is Severity.ERROR


class RootScope(StrEnum):
    """Whose skills a root holds, in order of precedence: the first wins where names are equal."""

    PROJECT = "project"
    USER = "user"
    OWN = "own"
    SHIPPED = "shipped"


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
    """A SKILL.md as read from disk.

    ``document`` is ``None`` when the file can't be used; ``findings`` say why. ``sha256`` is of its
    bytes (hex). ``shadowed_by`` is the file of the same name that takes precedence.
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
    """A change of one file on disk: without ``before`` it is new, without ``after`` deleted."""

    before: SkillFile | None
    after: SkillFile | None


class SkillPathError(DomainError):
    """A skill would be written outside its root, or over something that isn't a plain file."""


class SkillWriteError(DomainError):
    """The file system refused; the file is unchanged."""
