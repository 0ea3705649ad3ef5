"""Who acts: a person at the app or a terminal, an agent, an agent's environment, a setting.

Every change records one of these as text, and every list shows it in words. Here it is decided
whether a coding agent runs this process, and what a recorded text means. Nothing here gives a right
to decide: that is ``approvals.person``, which agents can't reach.

What an agent runs has the marks of the agent in its environment. One that hides its marks can't be
told from a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_CLAUDE_CODE: Final = ("claude-code", "Claude Code")
_CODEX: Final = ("codex", "Codex")
_OPENCODE: Final = ("opencode", "OpenCode")
_COPILOT: Final = ("github-copilot", "GitHub Copilot")
_UNKNOWN: Final = ("agent", "an agent")

AGENT_MARKS: Final[Mapping[str, tuple[str, str]]] = {
    "CLAUDECODE": _CLAUDE_CODE,
    "CLAUDE_CODE": _CLAUDE_CODE,
    "CLAUDE_CODE_ENTRYPOINT": _CLAUDE_CODE,
    "CODEX_SANDBOX": _CODEX,
    "CODEX_SANDBOX_NETWORK_DISABLED": _CODEX,
    "CODEX_CI": _CODEX,
    "CODEX_THREAD_ID": _CODEX,
    "CURSOR_AGENT": ("cursor", "Cursor"),
    "CURSOR_TRACE_ID": ("cursor", "Cursor"),
    "GEMINI_CLI": ("gemini", "Gemini CLI"),
    "QWEN_CODE": ("qwen-code", "Qwen Code"),
    "OPENCODE": _OPENCODE,
    "OPENCODE_CLIENT": _OPENCODE,
    "COPILOT_AGENT": _COPILOT,
    "COPILOT_CLI": _COPILOT,
    "AMP_CURRENT_THREAD_ID": ("amp", "Amp"),
    "ANTIGRAVITY_AGENT": ("antigravity", "Antigravity"),
    "AUGMENT_AGENT": ("augment", "Augment"),
    "CLINE_ACTIVE": ("cline", "Cline"),
    "CRUSH": ("crush", "Crush"),
    "GOOSE_TERMINAL": ("goose", "Goose"),
    "JUNIE_SHIM_PATH": ("junie", "Junie"),
    "OPENCLAW_SHELL": ("openclaw", "OpenClaw"),
    "PI_CODING_AGENT": ("pi", "Pi"),
    "REPL_ID": ("replit", "Replit"),
    "TRAE_AI_SHELL_ID": ("trae", "Trae"),
    "AI_AGENT": _UNKNOWN,
    "AGENT": _UNKNOWN,
}
"""Variables that coding agents set for the commands they run, not those that people configure
them with; each with the agent's id, as ``connect`` names it, and its name."""

_ENVIRONMENT: Final = " (environment)"
_PROGRAMS: Final = {
    "import": "an import",
    "learn": "learning",
    "evidence": "learning",
    "capture": "learning",
    "AutonomousSkillEvolver": "learning from several agents",
    "clock": "the clock",
    "skills on disk": "a change on disk",
    "knowledge": "what sessions show",
    "pruning": "the search for unused skills",
    "consolidation": "consolidation",
    "evaluation": "an evaluation",
    "room": "the making of room",
    "retention": "the rules of retention",
    "command line": "the command line",
}
"""What records call the parts of the program, in words."""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """A coding agent that runs this process; ``mark`` is the variable that shows it."""

    id: str
    name: str
    mark: str

    @property
    def shown_by(self) -> str:
        """The agent's name with the variable that shows it, for an error message."""
        return f"{self.name} ({self.mark} is set)"

    @property
    def actor(self) -> "Actor":
        """The agent as the author of what is done in its environment."""
        return Actor(ActorKind.ENVIRONMENT, self.id)


def agent_in(environ: Mapping[str, str]) -> CodingAgent | None:
    """Return the coding agent whose environment this is; ``None`` without a known one's mark."""
    for mark, (agent_id, name) in AGENT_MARKS.items():
        if environ.get(mark):
            return CodingAgent(agent_id, name, mark)
    return None


class ActorKind(StrEnum):
    """How somebody acts; ``COMMAND`` is a command without a mark, which nobody confirmed."""

    APP = "tui"
    TERMINAL = "terminal"
    COMMAND = "command line"
    PERSON = "person"
    AGENT = "agent"
    ENVIRONMENT = "environment"
    POLICY = "policy"
    PROGRAM = "program"


_PERSONS: Final = (ActorKind.APP, ActorKind.TERMINAL, ActorKind.COMMAND)
PERSON_SUFFIXES: Final = tuple(f" ({kind.value})" for kind in _PERSONS)
"""What the record of a person's act ends with."""
_WHERE: Final = {
    ActorKind.APP: "at the app",
    ActorKind.TERMINAL: "at a terminal",
    ActorKind.COMMAND: "by a command",
}


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change; ``str`` is what is recorded, ``words`` is what is shown.

    ``name`` is the person's, the agent's id, a setting's path, or a part of the program.
    ``PERSON`` is one of whom older records don't say where.
    """

    kind: ActorKind
    name: str

    @classmethod
    def parse(cls, recorded: str) -> "Actor":
        """Read a recorded text; what is nothing else is the id of an agent."""
        if recorded in _PROGRAMS:
            return cls(ActorKind.PROGRAM, recorded)
        if recorded == ActorKind.PERSON:
            return cls(ActorKind.PERSON, recorded)
        if recorded.startswith("policy (") and recorded.endswith(")"):
            return cls(ActorKind.POLICY, recorded[len("policy (") : -1])
        for kind in _PERSONS:
            name, found, rest = recorded.rpartition(f" ({kind.value})")
            if found and name and not rest:
                return cls(kind, name)
        agent_id = recorded.removeprefix("agent ")
        if agent_id.endswith(_ENVIRONMENT):
            return cls(ActorKind.ENVIRONMENT, agent_id.removesuffix(_ENVIRONMENT))
        return cls(ActorKind.AGENT, agent_id)

    def __str__(self) -> str:
        if self.kind in _PERSONS:
            return f"{self.name} ({self.kind.value})"
        if self.kind is ActorKind.ENVIRONMENT:
            return f"{self.name}{_ENVIRONMENT}"
        return f"policy ({self.name})" if self.kind is ActorKind.POLICY else self.name

    @property
    def words(self) -> str:
        """The author in words that a person reads."""
        if self.kind in _PERSONS:
            who = "a person" if self.name == "person" else self.name
            return f"{who} {_WHERE[self.kind]}"
        if self.kind is ActorKind.ENVIRONMENT:
            return f"agent {self.name}, by a command it ran"
        match self.kind:
            case ActorKind.PERSON:
                return "a person"
            case ActorKind.AGENT:
                return f"agent {self.name}"
            case ActorKind.POLICY:
                return f"the setting {self.name}"
            case _:
                return _PROGRAMS.get(self.name, self.name)


def actor_words(recorded: str) -> str:
    """Return the words for a recorded author."""
    return Actor.parse(recorded).words


def deed_of(deed: str, recorded: str) -> str:
    """Return the word for what an author did: what a setting approved or wrote, it adopted."""
    by_setting = Actor.parse(recorded).kind is ActorKind.POLICY
    return "adopted" if by_setting and deed in ("approved", "written") else deed
