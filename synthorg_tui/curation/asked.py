"""Questions that approved lessons answer: what the evidence of each says of what happened.

For evaluations of retrieval: the person who approved a lesson said that it is the answer to what
its evidence shows.
"""

from collections.abc import Iterable, Iterator

from synthorg_tui.curation.models import Evidence
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.output_lines import headline
from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource, RecallTask


async def approved_questions(registry: SkillRegistry) -> tuple[EvalQuestion, ...]:
    """Return a question for each occurrence in the evidence of each skill in force.

    One without a recorded occurrence, as of a file that was accepted, is asked by nothing.
    """
    return tuple(_questions(await registry.active()))


def _questions(skills: Iterable[RegisteredSkill]) -> Iterator[EvalQuestion]:
    for skill in skills:
        for seen in skill.evidence if skill.memory_ids else ():
            if text := _asked_by(seen):
                yield EvalQuestion(
                    text=text,
                    agent_id=skill.agent_id,
                    relevant=frozenset(skill.memory_ids),
                    category=RecallTask.PROCEDURAL,
                    source=QuestionSource.APPROVAL,
                    session=seen.execution,
                    project=seen.project,
                )


def _asked_by(seen: Evidence) -> str:
    """What an agent would ask with there: what it ran and what that said, or what it is to run."""
    if seen.reported:
        return ""
    steps = command_steps(seen.failed or seen.resolved_by)
    about = steps[-1].intent if steps else seen.failed
    return " ".join(filter(None, (about, headline(seen.error)))).strip()
