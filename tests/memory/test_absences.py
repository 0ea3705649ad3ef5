"""Why a memory isn't there: each verdict on a real store, and both sides of where it begins."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.absences import MAX_FORMER, Absences
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import (
    Injection,
    InjectionRequest,
    InjectionService,
    agents_request,
)
from tests.conftest import FixedClock
from tests.curation.review_kit import lesson, office
from tests.memory.store.store_kit import AGENT, opened, request

TASK = "push the release branch"
HERE = Visibility("s1", "/home/me/app")


@dataclass(frozen=True)
class Bench:
    """A store with what is asked of it."""

    store: LocalMemoryBackend
    clock: FixedClock
    injection: InjectionService
    absences: Absences

    async def keep(self, content: str, *tags: str, agent: str = AGENT, **fields: Any) -> str:
        return await self.store.store(agent, request(content, tags=tags, **fields))

    async def prepare(self, asked: InjectionRequest) -> Injection:
        return await self.injection.prepare(asked)

    async def former(self, asked: InjectionRequest | None = None) -> tuple[Candidate, ...]:
        asked = asked or question()
        found = (await self.injection.prepare(asked)).explanation.candidates
        return await self.absences.former(asked, [each.entry.id for each in found])

    async def why(self, memory_id: str, asked: InjectionRequest | None = None) -> tuple[str, str]:
        answer = await self.absences.why(asked or question(), memory_id)
        return answer.verdict.value, answer.reason


@pytest.fixture
async def bench(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Bench]:
    async with opened(tmp_path, clock=clock) as store:
        yield bench_on(store, clock)


def bench_on(store: LocalMemoryBackend, clock: FixedClock) -> Bench:
    injection = InjectionService(memory=store, retrieval=MemoryRetrievalConfig(), clock=clock)
    return Bench(store, clock, injection, Absences(store.core, injection))


def question(query: str = TASK, *, agent: str = AGENT, **fields: Any) -> InjectionRequest:
    asked = agents_request(agent, query, 2000, project=HERE.project, session_id=HERE.session_id)
    return replace(asked, **fields)


def digest(*fact_keys: str) -> MemoryV1Config:
    return MemoryV1Config.model_validate(
        {
            "enabled": True,
            "structured": {"fact_keys": fact_keys},
            "keyword": {"enabled": False},
            "semantic": {"enabled": False},
        }
    )


def verdicts(former: tuple[Candidate, ...]) -> list[tuple[str, Verdict, str]]:
    return [(each.entry.id, each.verdict, each.reason) for each in former]


class TestExpired:
    async def test_a_second_before_it_is_a_candidate_and_then_it_is_expired(
        self, bench: Bench
    ) -> None:
        expiry = bench.clock.now() + timedelta(days=1)
        key = await bench.keep("Push the release branch on Friday.", expires_at=expiry)
        bench.clock.current = expiry - timedelta(seconds=1)
        assert (await bench.why(key))[0] == "included"
        assert await bench.former() == ()
        bench.clock.current = expiry
        assert await bench.why(key) == ("expired", "expired on 2026-01-02")
        assert verdicts(await bench.former()) == [(key, Verdict.EXPIRED, "expired on 2026-01-02")]


class TestDeleted:
    async def test_it_says_who_deleted_it_and_when(self, bench: Bench) -> None:
        key = await bench.keep("Push the release branch on Friday.")
        assert (await bench.why(key))[0] == "included"
        bench.clock.advance(days=3)
        await bench.store.admin.remove([key], actor="eva (tui)")
        deleted = "deleted by eva at the app on 2026-01-04"
        assert await bench.why(key) == ("deleted", deleted)
        assert verdicts(await bench.former()) == [(key, Verdict.DELETED, deleted)]
        await bench.store.admin.restore([key], actor="eva (tui)")
        assert (await bench.why(key))[0] == "included"
        assert await bench.former() == ()

    async def test_a_fact_with_a_newer_one_of_its_key_is_replaced(self, bench: Bench) -> None:
        old = await bench.keep("Push the release branch to origin.", "fact:remote")
        bench.clock.advance(days=1)
        new = await bench.keep("The mirror is elsewhere.", "fact:remote")
        await bench.store.admin.remove([old], actor="ada")
        verdict, reason = await bench.why(old)
        by = f"replaced by the newer fact remote (memory {new[:8]})"
        assert (verdict, reason) == ("superseded", f"{by}; deleted by agent ada on 2026-01-02")

    async def test_a_fact_with_only_an_older_one_of_its_key_is_deleted(self, bench: Bench) -> None:
        await bench.keep("The mirror is elsewhere.", "fact:remote")
        bench.clock.advance(days=1)
        new = await bench.keep("Push the release branch to origin.", "fact:remote")
        await bench.store.admin.remove([new], actor="ada")
        assert (await bench.why(new))[0] == "deleted"

    async def test_a_purged_one_leaves_only_that(self, bench: Bench) -> None:
        key = await bench.keep("Push the release branch on Friday.")
        await bench.store.admin.purge([key], actor="eva (terminal)")
        reason = "erased for good by eva at a terminal on 2026-01-01"
        assert await bench.why(key) == ("purged", reason)
        assert (await bench.absences.why(question(), key[:8])).memory_id == key
        assert await bench.former() == ()

    @pytest.mark.parametrize("memory_id", ["", "no id", "00000000-0000-4000-8000-000000000000"])
    async def test_an_unknown_id_is_no_error(self, bench: Bench, memory_id: str) -> None:
        assert await bench.why(memory_id) == ("unknown", "no memory has this id")


class TestReplaced:
    async def test_a_digest_gives_the_newest_fact_in_place_of_older_ones(
        self, bench: Bench
    ) -> None:
        old = await bench.keep("Push the release branch to origin.", "fact:remote")
        bench.clock.advance(days=1)
        new = await bench.keep("Push the release branch to the mirror.", "fact:remote")
        asked = question(digest=digest("remote"))
        reason = f"replaced by the newer fact remote (memory {new[:8]})"
        assert await bench.why(old, asked) == ("superseded", reason)
        assert verdicts(await bench.former(asked)) == [(old, Verdict.SUPERSEDED, reason)]
        assert (await bench.why(new, asked))[0] == "included"

    async def test_where_no_digest_asks_for_the_key_the_newer_one_replaces_it_too(
        self, bench: Bench
    ) -> None:
        old = await bench.keep("Push the release branch to origin.", "fact:remote")
        bench.clock.advance(days=1)
        await bench.keep("Push the release branch to the mirror.", "fact:remote")
        assert (await bench.why(old))[0] == "superseded"
        other = question(digest=digest("editor"))
        assert (await bench.why(old, other))[0] == "not_relevant"
        assert await bench.former(other) == ()

    async def test_the_skill_that_replaced_it_is_named_with_who_approved_it(
        self, tmp_path: Path, clock: FixedClock
    ) -> None:
        async with office(tmp_path, clock=clock) as desk:
            old = await desk.approve(await desk.propose(lesson()))
            clock.advance(days=1)
            better = lesson("other", discovery="Set the upstream.", supersedes=(old,))
            new = await desk.approve(await desk.propose(better))
            bench = bench_on(desk.backend, clock)
            (entry,) = await desk.backend.admin.entries([old], deleted=True)
            asked = question("branch upstream", agent=entry.agent_id)
            verdict, reason = await bench.why(old, asked)
            assert verdict == "superseded"
            assert reason.startswith(
                f'replaced by the skill "Set the upstream." (memory {new[:8]}), approved by '
            )
            assert reason.endswith("at the app on 2026-01-02")
            assert (old, Verdict.SUPERSEDED, reason) in verdicts(await bench.former(asked))

    async def test_a_skill_approved_at_another_time_replaced_nothing(
        self, tmp_path: Path, clock: FixedClock
    ) -> None:
        async with office(tmp_path, clock=clock) as desk:
            old = await desk.approve(await desk.propose(lesson()))
            clock.advance(days=1)
            await desk.backend.admin.remove([old], actor="person (tui)")
            clock.advance(seconds=1)
            other = lesson("other", discovery="Name the commit.", condition="When committing.")
            await desk.approve(await desk.propose(other))
            bench = bench_on(desk.backend, clock)
            (entry,) = await desk.backend.admin.entries([old], deleted=True)
            verdict, _ = await bench.why(old, question("branch", agent=entry.agent_id))
            assert verdict == "deleted"


class TestElsewhere:
    @pytest.mark.parametrize(
        ("level", "place", "reason"),
        [
            (MemoryLevel.PROJECT, {"project": "/srv/other"}, "project /srv/other; asked from "),
            (MemoryLevel.SESSION, {"session_id": "s2"}, "session s2; asked from "),
        ],
    )
    async def test_another_place_is_named_with_where_it_was_asked_from(
        self, bench: Bench, level: MemoryLevel, place: dict[str, str], reason: str
    ) -> None:
        made = request("Push the release branch on Friday.")
        draft = MemoryDraft.model_validate({"request": made, "level": level, **place})
        outcome = await bench.store.store_many(AGENT, [draft], actor="import")
        (key,) = outcome.added
        asked = HERE.project if level is MemoryLevel.PROJECT else HERE.session_id
        assert await bench.why(key) == ("elsewhere", f"belongs to {reason}{asked}")
        nowhere = question(visibility=Visibility(None, None))
        assert (await bench.why(key, nowhere))[1].endswith(("no project", "no session"))
        there = question(visibility=Visibility(place.get("session_id", "s1"), place.get("project")))
        assert (await bench.why(key, there))[0] == "included"
        assert (await bench.why(key, question(visibility=None)))[0] == "included"
        await bench.store.admin.remove([key], actor="ada")
        assert await bench.former() == ()
        assert len(await bench.former(there)) == 1

    async def test_another_agents_private_memory(self, bench: Bench) -> None:
        key = await bench.keep("Push the release branch on Friday.", agent="bob")
        assert await bench.why(key) == ("foreign", "a private memory of agent bob")
        await bench.store.admin.remove([key], actor="bob")
        assert (await bench.why(key))[0] == "foreign"
        assert await bench.former() == ()

    async def test_a_published_one_is_given_unless_only_own_memories_are_asked_for(
        self, bench: Bench
    ) -> None:
        made = request("Push the release branch on Friday.")
        key = await bench.store.publish("bob", made)
        own = question(retrieval=MemoryRetrievalConfig(include_shared=False))
        assert (await bench.why(key))[0] == "included"
        verdict, reason = await bench.why(key, own)
        assert (verdict, reason[:26]) == ("foreign", "published by agent bob, bu")
        await bench.store.admin.remove([key], actor="bob")
        assert [each.is_shared for each in await bench.former()] == [True]
        assert await bench.former(own) == ()

    async def test_a_live_one_that_the_search_left_out_says_so(self, bench: Bench) -> None:
        key = await bench.keep("Push the release branch on Friday.")
        asked = question(strategy=InjectionStrategy.TOOL_BASED)
        reason = "not found for this query by the strategy tool_based"
        assert await bench.why(key, asked) == ("not_relevant", reason)


class TestFit:
    async def test_more_than_half_of_the_words_must_occur(self, bench: Bench) -> None:
        most = await bench.keep("We were pushing a branch.")
        half = await bench.keep("We were pushing a stone.")
        await bench.store.admin.remove([most, half], actor="ada")
        found = await bench.former(question("push the release branches"))
        assert [each.entry.id for each in found] == [most]
        found = await bench.former(question("a repository"))
        assert found == ()

    async def test_other_forms_of_a_word_are_found(self, bench: Bench) -> None:
        key = await bench.keep("Repositories are mirrored nightly.")
        await bench.store.admin.remove([key], actor="ada")
        for query in ("repository", "the mirroring of the repository", "mirror"):
            assert len(await bench.former(question(query))) == 1

    @pytest.mark.parametrize("content", ["die Türklinke", "latest", "10 times"])
    async def test_a_word_begins_where_a_word_begins(self, bench: Bench, content: str) -> None:
        key = await bench.keep(content)
        await bench.store.admin.remove([key], actor="ada")
        for query in ("test", "1", "rklinke", "time 1"):
            assert await bench.former(question(query)) == ()
        assert len(await bench.former(question(content))) == 1

    async def test_at_most_five_and_those_with_most_words_first(self, bench: Bench) -> None:
        keys = [await bench.keep(f"Push a branch, take {n}.") for n in range(MAX_FORMER)]
        best = await bench.keep("Push the release branch.")
        await bench.store.admin.remove([*keys, best], actor="ada")
        found = await bench.former()
        assert len(found) == MAX_FORMER
        assert found[0].entry.id == best

    async def test_function_words_alone_fit_nothing(self, bench: Bench) -> None:
        key = await bench.keep("And what of it?")
        await bench.store.admin.remove([key], actor="ada")
        assert await bench.former(question("what is it and why")) == ()

    async def test_hostile_words_are_only_words(self, bench: Bench) -> None:
        key = await bench.keep("100% 'quoted' x_y")
        await bench.store.admin.remove([key], actor="ada")
        assert await bench.former(question("' OR 1=1 -- %")) == ()
        assert len(await bench.former(question("100% 'quoted'"))) == 1


async def test_agents_are_given_the_same_bytes_and_no_former_memory(bench: Bench) -> None:
    await bench.keep("Push the release branch on Friday.")
    before = await bench.injection.serve(question())
    gone = await bench.keep("Push the release branch on Monday.")
    await bench.store.admin.remove([gone], actor="ada")
    served = await bench.injection.serve(question())
    assert served.text == before.text
    assert served.explanation.former == ()
    assert len(await bench.former()) == 1
