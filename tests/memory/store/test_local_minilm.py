"""The whole way with the bundled model: import, search by meaning, change, restart."""

from pathlib import Path

from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from tests.memory.store.store_kit import AGENT, draft, opened, query, request

LESSONS = (
    "Set the upstream with --set-upstream the first time a branch is published",
    "The integration tests need the database container to be running",
    "Prefer composition over inheritance in the billing module",
    "The coffee machine on the second floor is broken",
    "Deployments happen on Tuesdays after the stand-up",
)


async def test_memories_are_found_by_meaning_through_changes_and_a_restart(tmp_path: Path) -> None:
    embedder = create_embedder(MiniLMConfig())
    async with opened(tmp_path, embedder=embedder) as backend:
        outcome = await backend.store_many(AGENT, [draft(text) for text in LESSONS], actor="me")
        assert len(outcome.added) == len(LESSONS)
        (hit, *_) = (await backend.admin.find(query("a branch pushed without an upstream"))).hits
        assert hit.content == LESSONS[0]
        await backend.store(AGENT, request("Our espresso maker has been repaired"))
        (found,) = await backend.retrieve(AGENT, query("is the espresso maker repaired", limit=1))
        assert found.content == "Our espresso maker has been repaired"
        change = MemoryEdit(content="Releases go out on Fridays")
        await backend.admin.edit(outcome.added[4], change, actor="me")
    async with opened(tmp_path, embedder=embedder) as backend:
        (found, *_) = await backend.retrieve(AGENT, query("on which day do releases go out"))
        assert found.content == "Releases go out on Fridays"
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok
    await embedder.close()


REWORDED = (
    ("The deploy key is rotated every Monday.", "Every Monday the deploy key gets rotated."),
    ("Always run the linter before committing.", "Before every commit, run the linter."),
    (
        "Push a new branch with git push -u origin HEAD, or it has no upstream.",
        "A new branch needs its upstream set: git push -u origin HEAD.",
    ),
)
DIFFERENT = (
    ("The database is read-only on weekends.", "The database is backed up on weekends."),
    ("Ask the reviewer before a release.", "The release notes are written by the reviewer."),
)


async def test_rewordings_say_nearly_the_same_and_facts_on_one_subject_do_not(
    tmp_path: Path,
) -> None:
    embedder = create_embedder(MiniLMConfig())
    async with opened(tmp_path, embedder=embedder) as backend:
        for pairs, are_near in ((REWORDED, True), (DIFFERENT, False)):
            for pair in pairs:
                drafts = [draft(text) for text in pair]
                one, other = (await backend.store_many(AGENT, drafts, actor="me")).added
                near = {hit.id for hit in await backend.admin.similar(one)}
                assert (other in near) is are_near, pair
    await embedder.close()
