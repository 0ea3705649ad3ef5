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


class AutonomyLevel(StrEnum):
    """How far an agent may act without a person, declared from the freest to the most bound."""

    FULL = "full"
    SEMI = "semi"
    SUPERVISED = "supervised"
    LOCKED = "locked"


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


class ToolAccessLevel(StrEnum):
    """How far a tool may reach, in ascending order; ``CUSTOM`` is outside the order."""

    SANDBOXED = "sandboxed"
    RESTRICTED = "restricted"
    STANDARD = "standard"
    ELEVATED = "elevated"
    CUSTOM = "custom"


class SecurityVerdictType(StrEnum):
    """What is to become of a tool call: it may run, may not, or waits for a person."""

    ALLOW = "allow"
    DENY = "deny"
    ESCALATE = "escalate"


class TerminationReason(StrEnum):
    """Why a run of an agent ended; a ``PARKED`` one goes on when a person has decided."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    BUDGET_EXHAUSTED = "budget_exhausted"
    SHUTDOWN = "shutdown"
    PARKED = "parked"
    ERROR = "error"


class TaskStatus(StrEnum):
    """State of a task; ``COMPLETED`` and ``CANCELLED`` are final."""

    CREATED = "created"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


class TaskType(StrEnum):
    """Kind of work that a task is."""

    DEVELOPMENT = "development"
    DESIGN = "design"
    RESEARCH = "research"
    REVIEW = "review"
    MEETING = "meeting"
    ADMIN = "admin"


class Priority(StrEnum):
    """Urgency of a task, declared from the most urgent on."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Complexity(StrEnum):
    """Estimated size of a task, in ascending order."""

    SIMPLE = "simple"
    MEDIUM = "medium"
    COMPLEX = "complex"
    EPIC = "epic"


class ArtifactType(StrEnum):
    """Kind of a file that came of a task."""

    CODE = "code"
    TESTS = "tests"
    DOCUMENTATION = "documentation"


class ProjectStatus(StrEnum):
    """State of a project."""

    PLANNING = "planning"
    ACTIVE = "active"
    ON_HOLD = "on_hold"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class AgentStatus(StrEnum):
    """Standing of an agent in its company, whether or not it works at the moment."""

    ACTIVE = "active"
    ONBOARDING = "onboarding"
    ON_LEAVE = "on_leave"
    TERMINATED = "terminated"


class ActivityStatus(StrEnum):
    """What an agent does at the moment; a ``PAUSED`` one waits for a person."""

    IDLE = "idle"
    EXECUTING = "executing"
    PAUSED = "paused"


class RiskLevel(StrEnum):
    """The harm that wrongly approving something could do, in ascending order."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class SkillState(StrEnum):
    """State of a skill, comparing its file on disk with the registry and the stored memory.

    ``GONE`` is in memory without a file, ``RETIRED`` was taken out of both; ``INVALID`` can't be
    read, ``CHANGED`` is not as the memory has it, ``SHADOWED`` gives way to one of the same name,
    ``SHIPPED`` comes with the program and is not in force, ``FOUND`` was here before us and nobody
    asked for a review, ``NEW`` is not in memory, ``WARNINGS`` is fine but for strict readers.
    """

    GONE = "gone"
    RETIRED = "retired"
    INVALID = "invalid"
    CHANGED = "changed"
    SHADOWED = "shadowed"
    SHIPPED = "shipped"
    FOUND = "found"
    NEW = "new"
    WARNINGS = "warnings"
    VALID = "valid"
