"""Several people's engines on one server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from synthorg_tui.approvals import ApprovalsConfig, DecisionRole
from synthorg_tui.approvals.person import Person
from synthorg_tui.curation.inbox import item_of
from synthorg_tui.curation.models import Lesson
from synthorg_tui.curation.review import Decision
from synthorg_tui.engine import Engine
from synthorg_tui.persistence.config import PersistenceConfig
from synthorg_tui.settings.agents import AgentConfig
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.patience import until

AT_APP = Person("tui")
_LISTENING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')
"""


async def listened(url: str, programs: int) -> None:
    """Wait until so many programs are told by the server of what others write to a store."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as raw:
        await until(lambda: (raw.execute(_LISTENING).fetchone() or (0,))[0] >= programs)


def settings_of(person: str, url: str, *roles: DecisionRole) -> RootConfig:
    """The settings of one person on this server; an agent ``coder`` is of engineering."""
    return RootConfig(
        agents=(AgentConfig(id="coder", department="engineering"),),
        persistence=PersistenceConfig.model_validate({"backend": "postgres", "url": url}),
        approvals=ApprovalsConfig(person=person, roles=roles),
    )


@asynccontextmanager
async def engine_of(
    person: str, url: str, data_dir: Path, *roles: DecisionRole
) -> AsyncIterator[Engine]:
    """The open engine of one person."""
    settings = settings_of(person, url, *roles)
    async with Engine.open(settings, data_dir=data_dir) as engine:
        yield engine


async def propose(engine: Engine, lesson: Lesson) -> str:
    """Put a lesson into the queue and return the item's id."""
    item = item_of(lesson, FixedClock())
    await engine.approvals.add(item)
    return item.id


async def approve(engine: Engine, item_id: str) -> Decision:
    """Approve an item as it is shown now, as the engine's person."""
    shown = (await engine.reviews.review(item_id)).shown
    return await engine.reviews.approve(item_id, shown=shown, person=AT_APP)


def skill_files(engine: Engine) -> dict[str, str]:
    """The texts of the skills in an engine's own folder, by name."""
    root = engine.data_dir / "skills"
    return {path.parent.name: path.read_text("utf-8") for path in root.glob("*/SKILL.md")}
