"""Brings the index up to what other processes wrote to the same database, before a search answers.

Who owns its database alone has nothing to follow. Everybody else learns of the others' writes by
their revisions, which are taken one after another: what is lower than a revision that is seen was
committed before it.
"""

from typing import TYPE_CHECKING, Final

from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.policy import AgeRules

if TYPE_CHECKING:
    from synthorg_tui.memory.store.core import Core
    from synthorg_tui.memory.store.sync import Projection

FOLLOWED_BATCHES: Final = 3
"""Batches of others' changes that a search waits for, half a second; the rest is caught up on."""


async def is_current(core: "Core") -> bool:
    """Return whether the index contains all that was written before now, by whomever.

    What it lacks is replayed, as far as that takes no longer than a search may; the rest follows
    by itself. Raises ``VectorIndexError`` when the index doesn't answer.
    """
    projection = await core.indexed()
    if core.database.is_shared:
        await _follow(core, projection)
    if projection.is_behind:
        await core.catch_up()
    return not projection.is_behind


async def _follow(core: "Core", projection: "Projection") -> None:
    """Learn of the others' writes, and replay the first of them; the store's rules may be new, too.

    A search waits for a change of its own process that is being written, since the index gets
    revisions in order.
    """
    revision, core.ages = await core.read(lambda db: (queries.last_revision(db), AgeRules.load(db)))
    await projection.look(revision)
    if projection.is_behind:
        await core.with_index(lambda each: each.catch_up(batches=FOLLOWED_BATCHES))
    await core.learn(revision)
