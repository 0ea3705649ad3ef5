"""Turns the records of a client into steps of a run: bounded, redacted, and each complete.

``dialects`` reads the records of each client and calls ``ClientSteps``. All texts are untrusted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.paths import in_place
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.ingest.readers.base import shortened
from synthorg_tui.runtime.models import RunStep, StepKind

MAX_STEPS: Final = 4_000
"""Steps of one run; what comes after them is in the client's own record only."""
MAX_ANSWER: Final = 24_000
MAX_ARGUMENT: Final = 4_000
MAX_ARGUMENTS: Final = 40
MAX_OPEN_CALLS: Final = 200
MAX_NAME: Final = 200


@dataclass(slots=True)
class ClientSteps:
    """The steps of a run by a client, and its usage so far.

    ``emit`` is given each step once it is complete. ``number`` is that of the last step, ``turn``
    the number of answers, ``session`` the client's name for the run. ``reason`` and ``told`` are
    the end that the client reports. ``skipped`` counts records that can't be read.
    """

    emit: Callable[[RunStep], None]
    clock: Clock
    output_chars: int
    number: int = 0
    turn: int = 0
    session: str = ""
    model: str = ""
    last_text: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    reason: TerminationReason | None = None
    told: str = ""
    skipped: int = 0
    left_out: int = 0
    _answer: str = ""
    _texts: list[str] = field(default_factory=list)
    _unsaid: list[float] = field(default_factory=lambda: [0, 0, 0.0])
    _counted: dict[str, tuple[int, int]] = field(default_factory=dict)
    _open: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tool and arguments of the calls that have no result yet."""

    def given(self, text: str, memory_ids: tuple[str, ...]) -> None:
        """Add what the run begins with."""
        self._add(StepKind.GIVEN, text=text, memory_ids=memory_ids)

    def note(self, text: str) -> None:
        """Add a note of the runtime."""
        self._flush()
        self._add(StepKind.NOTE, text=self._clean(text, MAX_ANSWER))

    def answer(self, identity: str, text: str = "") -> None:
        """Take a text of the answer with this name; its step comes when the answer is complete."""
        if identity != self._answer or not identity:
            self._flush()
            self._answer = identity or "unnamed"
            self.turn += 1
        if text.strip() and sum(map(len, self._texts)) < MAX_ANSWER:
            self._texts.append(text)

    def call(self, identity: str, tool: str, arguments: dict[str, Any]) -> None:
        """Take a call that the answer asks for; its step comes with its result."""
        if len(self._open) < MAX_OPEN_CALLS and identity not in self._open:
            name = self._clean(tool, MAX_NAME) or "unknown"
            self._open[identity] = {"tool": name, "arguments": self._bounded(arguments)}

    def tool_of(self, identity: str) -> str:
        """Return the tool of a call that has no result yet; empty when there is none."""
        return str(self._open.get(identity, {}).get("tool", ""))

    def result(
        self, identity: str, output: str, outcome: CallOutcome, exit_code: int | None = None
    ) -> None:
        """Take the result of a call; one that wasn't asked for is left out."""
        call = self._open.pop(identity, None)
        if call is None:
            return
        self._flush()
        self.calls += 1
        self._add(
            StepKind.CALL,
            **call,
            outcome=outcome,
            exit_code=exit_code,
            text=self._clean(output, self.output_chars),
        )

    def used(self, identity: str, prompt: int, completion: int, cost: float = 0.0) -> None:
        """Take the tokens of an answer and what it cost.

        Where its tokens are told again, the last ones count; costs are added up.
        """
        before = self._counted.get(identity, (0, 0))
        self._counted[identity] = (prompt, completion)
        self._use(prompt - before[0], completion - before[1], cost)

    def settle(self, prompt: int, completion: int, cost: float) -> None:
        """Take the client's total usage, and add the part that no answer reported."""
        self._use(
            max(0, prompt - self.prompt_tokens),
            max(0, completion - self.completion_tokens),
            max(0.0, cost - self.cost),
        )

    def ended(self, reason: TerminationReason, told: str = "") -> None:
        """Take the end that the client reports."""
        self.reason, self.told = reason, self._clean(told, MAX_ARGUMENT)

    def finish(self) -> None:
        """Add the last answer and the open calls, whose outcome is unknown."""
        self._flush()
        for identity in tuple(self._open):
            self.result(identity, "", CallOutcome.UNKNOWN)

    def _use(self, prompt: int, completion: int, cost: float) -> None:
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cost += cost
        for place, amount in enumerate((prompt, completion, cost)):
            self._unsaid[place] += amount

    def _flush(self) -> None:
        """Add the step of the answer that was being told."""
        if not self._answer:
            return
        text = self._clean("\n".join(self._texts), MAX_ANSWER)
        self._answer, self._texts = "", []
        self.last_text = text or self.last_text
        self._add(StepKind.ANSWER, text=text)

    def _add(self, kind: StepKind, **what: Any) -> None:
        if self.number >= MAX_STEPS and kind is not StepKind.NOTE:
            self.left_out += 1
            return
        prompt, completion, cost = (max(0, amount) for amount in self._unsaid)
        self._unsaid = [0, 0, 0.0]
        self.number += 1
        step = RunStep(
            number=self.number,
            turn=self.turn,
            at=self.clock.now(),
            kind=kind,
            prompt_tokens=int(prompt),
            completion_tokens=int(completion),
            cost=cost,
            **what,
        )
        self.emit(step)

    def _clean(self, text: str, limit: int) -> str:
        """A text as it is kept: within bounds, without secrets, its paths those of the project."""
        fitting = shortened(text, limit * 2)  # before it is searched, which takes time
        redacted = redact_text(fitting.replace("\0", ""), RedactionTally())
        return shortened(in_place(redacted), limit)

    def _bounded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments with short names and values; what is nested is shown as text."""
        some = list(arguments.items())[:MAX_ARGUMENTS]
        redacted = redact_value({name[:MAX_NAME]: value for name, value in some}, RedactionTally())
        assert isinstance(redacted, dict)
        return {name: self._value(value) for name, value in redacted.items()}

    def _value(self, value: object) -> object:
        if isinstance(value, bool | int | float) or value is None:
            return value
        text = value if isinstance(value, str) else repr(value)
        return self._clean(text, MAX_ARGUMENT)
