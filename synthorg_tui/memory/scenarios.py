"""Saved questions that can be asked again, to see whether an agent would now get other memories.

A scenario stores which memories were included when it was saved; running it reports the
differences. Nothing here decides what is included.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pydantic import Field, ValidationError

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.config import CompanyMemoryConfig
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.retrieval.explanation import Candidate
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.service import (
    InjectionRequest,
    InjectionService,
    agents_request,
)
from synthorg_tui.persistence.port import Connection, StoreDatabase


def stored_scenarios(db: Connection) -> list[tuple[str, str, list[str]]]:
    """Return name, question as JSON, and ids of the expected memories of all scenarios, by name."""
    return db.execute("SELECT name, question, expected FROM scenarios ORDER BY name").fetchall()


Value: TypeAlias = bool | int | float | str

DIGEST_V1: Final = "digest_v1"
SENSITIVITIES: Final = "sensitivities"


class Question(FrozenModel):
    """An agent's task, and the settings under which memories are chosen for it.

    ``overrides`` replace fields of ``MemoryRetrievalConfig`` for this question. Two further keys
    are allowed: ``digest_v1`` turns the digest on or off, and ``sensitivities`` lists the
    sensitivities that may be given, separated by blanks, or ``all``. ``visibility`` is the project
    and session that the agent works in; ``None`` sees all of them, as no agent does.
    """

    agent_id: NotBlankStr
    query: NotBlankStr
    token_budget: int = Field(ge=0)
    overrides: Mapping[str, Value] = Field(default_factory=dict)
    pinned: tuple[NotBlankStr, ...] = ()
    excluded: tuple[NotBlankStr, ...] = ()
    visibility: Visibility | None = None

    def request(self, configured: MemoryRetrievalConfig, v1: MemoryV1Config) -> InjectionRequest:
        """Build the injection request from this question and the configured settings.

        Raises ``DomainError`` when the overrides are invalid.
        """
        others = (DIGEST_V1, SENSITIVITIES)
        changed = {name: value for name, value in self.overrides.items() if name not in others}
        retrieval = _changed_config(configured, changed) if changed else None
        digest_v1 = self.overrides.get(DIGEST_V1)
        if digest_v1 is not None and not isinstance(digest_v1, bool):
            raise DomainError(f"{DIGEST_V1} is true or false, not {digest_v1!r}.")
        view = self.visibility
        request = agents_request(
            self.agent_id,
            self.query,
            self.token_budget,
            project=view.project if view else None,
            session_id=view.session_id if view else None,
        )
        return replace(
            request,
            visibility=view and request.visibility,
            strategy=retrieval.strategy if retrieval is not None else None,
            retrieval=retrieval,
            pinned=self.pinned,
            excluded=self.excluded,
            digest_v1=digest_v1,
            digest=_changed_digest(v1, self.overrides.get(SENSITIVITIES)),
        )


def sensitivity_words(levels: Sequence[Sensitivity]) -> str:
    """Format sensitivities as the ``sensitivities`` override expects them."""
    chosen = [level.value for level in Sensitivity if level in levels]
    return "all" if len(chosen) == len(Sensitivity) else " ".join(chosen)


def _changed_digest(v1: MemoryV1Config, words: Value | None) -> MemoryV1Config | None:
    if words is None:
        return None
    names = [level.value for level in Sensitivity]
    chosen = names if words == "all" else str(words).split()
    if not set(chosen) <= set(names):
        raise DomainError(f"{SENSITIVITIES} is all, or some of {', '.join(names)}; not {words!r}.")
    levels = tuple(Sensitivity(name) for name in chosen)
    return v1.model_copy(update={"allow_sensitivities": levels})


def _changed_config(
    configured: MemoryRetrievalConfig, changed: Mapping[str, Value]
) -> MemoryRetrievalConfig:
    """The settings with changes; defaults are left out, so that they don't count as chosen."""
    if unknown := sorted(set(changed) - set(MemoryRetrievalConfig.model_fields)):
        raise DomainError(
            f"memory.retrieval has no setting {unknown[0]!r}.",
            remedy="`synthorg-tui config show` lists those there are.",
        )
    values = {**configured.model_dump(exclude_unset=True), **changed}
    try:
        return MemoryRetrievalConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise DomainError(
            f"These options don't go together: {f'{field}: ' if field else ''}{reason}.",
            remedy="Change one of them, or go back to what is configured.",
        ) from error


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question saved under a name.

    ``expected`` are the ids of the memories included when it was saved, in order.
    """

    name: str
    question: Question
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """Result of running a saved scenario again.

    ``candidates`` are the memories considered now; ``error`` is why it couldn't be run, else empty.
    """

    scenario: Scenario
    candidates: tuple[Candidate, ...] = ()
    error: str = ""

    @property
    def included(self) -> tuple[str, ...]:
        """Ids of the memories that the agent would be given now, in order."""
        return tuple(candidate.entry.id for candidate in self.candidates if candidate.verdict.is_in)

    def about(self, memory_id: str) -> str:
        """Return the first line of a memory's content and why it is now included or left out."""
        about = (known for known in self.candidates if known.entry.id == memory_id)
        found = next(about, None)
        if found is None:
            return "no longer considered"
        return f"{found.entry.content.strip().partition(chr(10))[0]} ({found.reason})"

    @property
    def added(self) -> tuple[str, ...]:
        """Ids of memories that are included now but were not when the scenario was saved."""
        if self.error:
            return ()
        expected = self.scenario.expected
        return tuple(known for known in self.included if known not in expected)

    @property
    def removed(self) -> tuple[str, ...]:
        """Ids of memories that were included when the scenario was saved but no longer are."""
        if self.error:
            return ()
        included = self.included
        return tuple(known for known in self.scenario.expected if known not in included)

    @property
    def is_reordered(self) -> bool:
        """Whether the same memories are included as before, in a different order."""
        if self.error or self.added or self.removed:
            return False
        return self.included != self.scenario.expected

    @property
    def is_changed(self) -> bool:
        """Whether the result differs from the saved one in any way, or the run failed."""
        return bool(self.error or self.added or self.removed or self.is_reordered)


class ScenarioService:
    """Saves questions with the memories they include, and runs them again to detect changes.

    They are stored in the database, so that backups include them.
    """

    def __init__(
        self,
        database: StoreDatabase,
        injection: InjectionService,
        configured: Callable[[str], CompanyMemoryConfig],
    ) -> None:
        self._database = database
        self._injection = injection
        self._configured = configured

    async def list(self) -> tuple[Scenario, ...]:
        """Return all saved scenarios, ordered by name."""
        return tuple(
            Scenario(name, Question.model_validate_json(question), tuple(expected))
            for name, question, expected in await self._database.read(stored_scenarios)
        )

    async def save(self, name: str, question: Question) -> Scenario:
        """Run the question and save it with the memories included, replacing one of the same name.

        Secrets in name and question are redacted. Raises ``DomainError`` when the name is blank.
        """
        if not name.strip():
            raise DomainError("A scenario needs a name.")
        tally = RedactionTally()
        name = redact_text(name, tally)
        question = question.model_copy(update={"query": redact_text(question.query, tally)})
        candidates = await self._candidates(question)
        expected = tuple(candidate.entry.id for candidate in candidates if candidate.verdict.is_in)
        scenario = Scenario(name.strip(), question, expected)
        values = [scenario.name, question.model_dump_json(), list(expected)]
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?)", values)
        )
        return scenario

    async def delete(self, name: str) -> bool:
        """Delete a scenario; return ``False`` when there is none of this name."""
        sql = "DELETE FROM scenarios WHERE name = ? RETURNING name"
        return bool(await self._database.write(lambda db: db.execute(sql, [name]).fetchall()))

    async def run(self, names: Sequence[str] = ()) -> tuple[ScenarioOutcome, ...]:
        """Run the named scenarios again, or all by default; return one outcome for each.

        Raises ``DomainError`` for an unknown name.
        """
        saved = await self.list()
        unknown = sorted(set(names) - {scenario.name for scenario in saved})
        if unknown:
            raise DomainError(f"There is no scenario {unknown[0]!r}.")
        wanted = [scenario for scenario in saved if not names or scenario.name in names]
        return tuple([await self._outcome(scenario) for scenario in wanted])

    async def _outcome(self, scenario: Scenario) -> ScenarioOutcome:
        try:
            return ScenarioOutcome(scenario, await self._candidates(scenario.question))
        except DomainError as error:
            return ScenarioOutcome(scenario, error=error.message)

    async def _candidates(self, question: Question) -> tuple[Candidate, ...]:
        memory = self._configured(question.agent_id)
        injection = await self._injection.prepare(question.request(memory.retrieval, memory.v1))
        return injection.explanation.candidates
