"""Names of what the evolver's log records tell of; each record carries its name as ``event``."""

from typing import Final

SKILL_EVOLVER_CYCLE_START: Final = "skill_evolver.cycle.start"
SKILL_EVOLVER_CYCLE_COMPLETE: Final = "skill_evolver.cycle.complete"
SKILL_EVOLVER_CYCLE_FAILED: Final = "skill_evolver.cycle.failed"
SKILL_EVOLVER_PROPOSAL_EMITTED: Final = "skill_evolver.proposal.emitted"
SKILL_EVOLVER_CONFLICT_DETECTED: Final = "skill_evolver.conflict.detected"
SKILL_EVOLVER_DISABLED: Final = "skill_evolver.disabled"
ORG_SKILL_SUPERSEDED: Final = "org_skill.superseded"
