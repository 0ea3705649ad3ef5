"""The data of evaluations: what is looked at, and what each level found.

Plain data that is stored as JSON, so a field can be added but not renamed. A result holds no text
of a session: prompts are named by their transcript lines.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, TypeAdapter

from synthorg_tui.core.text import counted
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.effects import LessonEffect
from synthorg_tui.curation.models import Count, Evidence, LessonKind

MIN_PROMPTS: Final = 5
"""Prompts of a sort from which on a share of them is given as a figure."""
CLEAR: Final = 2.0
"""Standard errors by which two arms have to differ before one is called better."""
WITH_SKILL: Final = "with_skill"
WITHOUT_SKILL: Final = "without_skill"
OLD_SKILL: Final = "old_skill"
ARMS: Final = (WITH_SKILL, WITHOUT_SKILL, OLD_SKILL)


class EvaluationLevel(StrEnum):
    """How a skill is looked at, the cheapest first."""

    LINT = "lint"
    TRIGGER = "trigger"
    REPLAY = "replay"
    RECURRENCE = "recurrence"


class SkillUnderTest(FrozenModel):
    """The exact text of a skill that is evaluated, and what it was drawn from.

    ``sha256`` (hex) is of the bytes of its SKILL.md, ``path`` is where that is or would be.
    ``item_id`` names the proposal, empty for an approved skill. ``memory_text`` is what its memory
    says or would say; ``memory_ids`` are empty before the approval. ``old_text`` is the text that
    it replaces, empty for a first one. Without a file (``is_file``) the memory's text is all.
    """

    name: NotBlankStr
    path: NotBlankStr
    text: str
    sha256: str
    item_id: str = ""
    agent_id: str = ""
    is_file: bool = True
    kind: LessonKind | None = None
    evidence: tuple[Evidence, ...] = ()
    description: str = ""
    memory_text: str = ""
    memory_ids: tuple[str, ...] = ()
    old_text: str = ""


class QuickResult(FrozenModel):
    """Result of a level that counts and works nothing out."""

    @property
    def figures(self) -> dict[str, float | str | None]:
        """What is worked out of the result, for programs."""
        return {}


class LintResult(QuickResult):
    """What is wrong with the text, as a strict reader of the format sees it."""

    level: Literal["lint"] = "lint"
    errors: Count = 0
    warnings: Count = 0
    findings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The result in a few words."""
        parts = [(self.errors, "error"), (self.warnings, "warning")]
        told = [counted(n, word) for n, word in parts if n]
        return f"lint {', '.join(told) or 'ok'}"


class PromptOutcome(FrozenModel):
    """Whether one recorded prompt brought the skill up, and whether it should have.

    ``lines`` is its transcript reference. ``described`` says that the description alone would be
    chosen, ``digested`` that the digest for this prompt holds the skill.
    """

    lines: NotBlankStr
    wanted: bool
    described: bool
    digested: bool

    @property
    def surfaced(self) -> bool:
        """Whether an agent would see the skill one way or the other."""
        return self.described or self.digested


class TriggerResult(FrozenModel):
    """Which recorded prompts bring the skill up.

    ``sessions`` is how many were looked through; in them ``failures`` calls failed as the skill
    says, and before ``warned`` of these it would have come up as a hint. ``is_estimated`` says that
    the skill isn't stored yet: for the digest its text was compared alone, nothing else beside it.
    """

    level: Literal["trigger"] = "trigger"
    outcomes: tuple[PromptOutcome, ...] = ()
    sessions: Count = 0
    failures: Count = 0
    warned: Count = 0
    is_estimated: bool = False
    seconds: float = Field(default=0.0, ge=0.0)

    @property
    def wanted(self) -> int:
        """The number of prompts for which it should come up."""
        return sum(outcome.wanted for outcome in self.outcomes)

    @property
    def found(self) -> int:
        """The number of those for which it does."""
        return sum(outcome.wanted and outcome.surfaced for outcome in self.outcomes)

    @property
    def misses(self) -> int:
        """The number of near misses, for which it should stay quiet."""
        return len(self.outcomes) - self.wanted

    @property
    def quiet(self) -> int:
        """The number of those for which it does."""
        return sum(not (outcome.wanted or outcome.surfaced) for outcome in self.outcomes)

    @property
    def recall(self) -> float | None:
        """Share of wanted prompts that found it; ``None`` when they are too few for a figure."""
        return self.found / self.wanted if self.wanted >= MIN_PROMPTS else None

    @property
    def precision(self) -> float | None:
        """Share of wanted ones among those that found it; ``None`` when there are too few."""
        surfaced = self.found + self.misses - self.quiet
        enough = min(self.wanted, self.misses) >= MIN_PROMPTS and surfaced > 0
        return self.found / surfaced if enough else None

    @property
    def figures(self) -> dict[str, float | str | None]:
        """What is worked out of the result, for programs; ``None`` where there is too little."""
        return {"precision": self.precision, "recall": self.recall}

    @property
    def words(self) -> str:
        """The result in a few words; says where the evidence is too small for a figure."""
        if not self.outcomes:
            return "no recorded prompts to try"
        found = f"found for {self.found} of {self.wanted} prompts" if self.wanted else "no prompts"
        quiet = f"quiet for {self.quiet} of {self.misses}" if self.misses else "no near misses"
        few = " (too few for a figure)" if min(self.wanted, self.misses) < MIN_PROMPTS else ""
        calls = counted(self.failures, "failing call")
        hints = f", hint before {self.warned} of {calls}" if self.failures else ""
        return f"{found}, {quiet}{few}{hints}"


class GradedAssertion(FrozenModel):
    """What a script says of one assertion; ``passed`` is ``None`` where none can decide it."""

    text: NotBlankStr
    passed: bool | None
    evidence: str = ""


class RunGrade(FrozenModel):
    """One run of one case: in which arm, how it ended, and what the scripts say.

    ``number`` counts the runs of a case in an arm from 1; ``reason`` is a termination reason.
    """

    case: NotBlankStr
    arm: NotBlankStr
    number: int = Field(ge=1)
    results: tuple[GradedAssertion, ...] = ()
    tokens: Count = 0
    milliseconds: Count = 0
    cost: float = Field(default=0.0, ge=0.0)
    reason: str = ""

    @property
    def pass_rate(self) -> float | None:
        """Share of the decided assertions that passed; ``None`` when none was decided."""
        decided = [result.passed for result in self.results if result.passed is not None]
        return sum(decided) / len(decided) if decided else None


class ArmFigure(FrozenModel):
    """Mean and standard deviation (of a sample) of a measure in one arm."""

    mean: float
    stddev: float = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> "ArmFigure | None":
        """The figure of some values, ``None`` of none."""
        known = list(values)
        if not known:
            return None
        spread = statistics.stdev(known) if len(known) > 1 else 0.0
        return cls(mean=statistics.fmean(known), stddev=spread)


class ReplayVerdict(StrEnum):
    """What the runs show."""

    HELPS = "helps"
    HARMS = "harms"
    NO_DIFFERENCE = "no clear difference"
    TOO_LITTLE = "too little to tell"


class ReplayResult(FrozenModel):
    """Runs with the skill and without it, or with the text that it replaces.

    ``baseline`` is the arm that it is compared with. ``folder`` holds the files, ``sources`` are
    the transcript lines that the cases were made of. ``is_whole`` is false when it was stopped
    before the last run.
    """

    level: Literal["replay"] = "replay"
    executor: NotBlankStr
    baseline: NotBlankStr = WITHOUT_SKILL
    grades: tuple[RunGrade, ...] = ()
    folder: str = ""
    sources: tuple[str, ...] = ()
    is_whole: bool = True

    def rates(self, arm: str) -> Mapping[str, list[float]]:
        """The pass rates of an arm's runs by case."""
        rates: dict[str, list[float]] = {}
        for grade in self.grades:
            if grade.arm == arm and grade.pass_rate is not None:
                rates.setdefault(grade.case, []).append(grade.pass_rate)
        return rates

    @property
    def compared(self) -> list[tuple[list[float], list[float]]]:
        """The pass rates with the skill and in the baseline, of each case that has both."""
        with_it, without = self.rates(WITH_SKILL), self.rates(self.baseline)
        return [(with_it[case], without[case]) for case in with_it if case in without]

    @property
    def runs(self) -> int:
        """The least number of graded runs that a case has in an arm; 0 when none compares."""
        return min((len(rates) for pair in self.compared for rates in pair), default=0)

    @property
    def delta(self) -> float | None:
        """Mean over the cases of how much better the runs with the skill were; -1 to 1."""
        gains = [statistics.fmean(ours) - statistics.fmean(base) for ours, base in self.compared]
        return statistics.fmean(gains) if gains else None

    @property
    def spread(self) -> float:
        """Standard error of ``delta``, from how the runs of a case differ within an arm."""
        pairs = self.compared
        several = [rates for pair in pairs for rates in pair if len(rates) > 1]
        errors = [statistics.variance(rates) / len(rates) for rates in several]
        return math.sqrt(sum(errors)) / len(pairs) if pairs else 0.0

    @property
    def verdict(self) -> ReplayVerdict:
        """Which arm is better, if the runs differ by more than they do among themselves."""
        delta = self.delta
        if delta is None or self.runs < 2:
            return ReplayVerdict.TOO_LITTLE
        if abs(delta) <= CLEAR * self.spread or delta == 0:
            return ReplayVerdict.NO_DIFFERENCE
        return ReplayVerdict.HELPS if delta > 0 else ReplayVerdict.HARMS

    @property
    def idle(self) -> frozenset[tuple[str, str]]:
        """Case and text of assertions that tell nothing: they passed in every run of both arms."""
        seen: dict[tuple[str, str], set[tuple[str, bool]]] = {}
        for grade in self.grades:
            for result in grade.results:
                if result.passed is not None:
                    key = (grade.case, result.text)
                    seen.setdefault(key, set()).add((grade.arm, result.passed))
        return frozenset(
            key
            for key, found in seen.items()
            if len(found) > 1 and all(passed for _, passed in found)
        )

    @property
    def figures(self) -> dict[str, float | str | None]:
        """What is worked out of the result, for programs."""
        return {"delta": self.delta, "spread": self.spread, "verdict": self.verdict.value}

    @property
    def words(self) -> str:
        """The result in a few words."""
        delta = self.delta
        if delta is None:
            return "replay told nothing"
        versus = " over the old text" if self.baseline == OLD_SKILL else ""
        stopped = "" if self.is_whole else ", stopped early"
        runs = counted(self.runs, "run") + stopped
        return f"replay {delta:+.2f} ±{self.spread:.2f}{versus} ({runs})"


class RecurrenceResult(QuickResult):
    """What became of its failure in the sessions since its approval that ran what it is about.

    ``had`` are those in which the agent had been given it, ``lacked`` the others; ``told`` says the
    same in a sentence, or why there is nothing to count.
    """

    level: Literal["recurrence"] = "recurrence"
    is_recognised: bool = False
    had: Count = 0
    had_failed: Count = 0
    lacked: Count = 0
    lacked_failed: Count = 0
    told: str = ""

    @classmethod
    def of(cls, effect: LessonEffect) -> "RecurrenceResult":
        """The counts of what came of an approved lesson."""
        return cls(
            is_recognised=effect.is_recognised,
            had=effect.had,
            had_failed=effect.had_failed,
            lacked=effect.lacked,
            lacked_failed=effect.lacked_failed,
            told=effect.failure_words,
        )

    @property
    def words(self) -> str:
        """The result in a few words."""
        ran = self.had + self.lacked
        if not self.is_recognised or not ran:
            return self.told
        failed = self.had_failed + self.lacked_failed
        return f"since approval {failed} of {counted(ran, 'session')} failed"


LevelResult: TypeAlias = Annotated[
    LintResult | TriggerResult | ReplayResult | RecurrenceResult, Field(discriminator="level")
]
RESULTS: Final[TypeAdapter[LevelResult]] = TypeAdapter(LevelResult)


class SkillEvaluation(FrozenModel):
    """What one level found, when, and of which text.

    ``is_current`` is false when it is of an older text than the one that was asked about.
    """

    name: NotBlankStr
    path: NotBlankStr
    item_id: str = ""
    sha256: str
    made_at: AwareDatetime
    result: LevelResult
    is_current: bool = True

    @property
    def level(self) -> EvaluationLevel:
        """The level that it is of."""
        return EvaluationLevel(self.result.level)


def help_words(evaluations: Iterable[SkillEvaluation]) -> str:
    """Return what is known of whether a skill helps as one line, the cheapest level first."""
    order = list(EvaluationLevel)
    known = sorted(evaluations, key=lambda each: order.index(each.level))
    return " · ".join(words for each in known if (words := each.result.words))
