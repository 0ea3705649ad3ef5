"""Enumerations shared across packages; values are what is stored and shown."""

from enum import StrEnum


class MemoryCategory(StrEnum):
    """Category of a memory, by the kind of knowledge that it holds."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    SOCIAL = "social"


class MemoryLevel(StrEnum):
    """How far a memory is visible: everywhere, in its project, in its session, or not stored."""

    PERSISTENT = "persistent"
    PROJECT = "project"
    SESSION = "session"
    NONE = "none"


class ConsolidationInterval(StrEnum):
    """How often old memories are checked for consolidation."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    NEVER = "never"


class OrgFactCategory(StrEnum):
    """Kinds of organisation-wide facts."""

    CORE_POLICY = "core_policy"
    ADR = "adr"
    PROCEDURE = "procedure"
    CONVENTION = "convention"


class SeniorityLevel(StrEnum):
    """Seniority of an agent, declared in ascending order; compare members by position."""

    JUNIOR = "junior"
    MID = "mid"
    SENIOR = "senior"
    LEAD = "lead"
    PRINCIPAL = "principal"
    DIRECTOR = "director"
    VP = "vp"
    C_SUITE = "c_suite"


class CallOutcome(StrEnum):
    """How a tool call ended. Only ``FAILED`` is a failure an agent can learn from."""

    OK = "ok"
    FAILED = "failed"
    DENIED_BY_USER = "denied_by_user"
    BLOCKED_BY_HOOK = "blocked_by_hook"
    CANCELLED_WITH_SIBLING = "cancelled_with_sibling"
    UNKNOWN = "unknown"


class ExecutionOutcome(StrEnum):
    """How a session or run ended, as far as its transcript shows."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class ToolCategory(StrEnum):
    """Category of a tool by what it can affect; permissions are granted by category."""

    FILE_SYSTEM = "file_system"
    CODE_EXECUTION = "code_execution"
    VERSION_CONTROL = "version_control"
    WEB = "web"
    DATABASE = "database"
    TERMINAL = "terminal"
    DESIGN = "design"
    COMMUNICATION = "communication"
    ANALYTICS = "analytics"
    DEPLOYMENT = "deployment"
    MCP = "mcp"
    MEMORY = "memory"
    OTHER = "other"


class SkillState(StrEnum):
    """State of a skill, comparing its file on disk with the registry and the stored memory.

    When several states apply to a skill, the first one in the order of declaration is reported.
    ``GONE``: registered, but the file is missing. ``RETIRED``: removed from both disk and memory.
    ``INVALID``: the file can't be parsed. ``CHANGED``: the file differs from the approved version.
    ``SHADOWED``: another skill of the same name takes precedence. ``FOUND``: the file existed when
    its folder was first scanned, and nobody has asked for a review. ``NEW``: the file is not in the
    registry yet. ``WARNINGS``: usable, but strict readers would object to it.
    """

    GONE = "gone"
    RETIRED = "retired"
    INVALID = "invalid"
    CHANGED = "changed"
    SHADOWED = "shadowed"
    FOUND = "found"
    NEW = "new"
    WARNINGS = "warnings"
    VALID = "valid"
