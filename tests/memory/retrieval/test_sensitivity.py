"""What agents may be given by sensitivity: one rule, whichever way they ask."""

from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter
from tests.memory.memory_kit import entry
from tests.memory.strategies.tool_kit import FakeBackend
from tests.tables import rows

SECRET = ("sensitivity:sensitive",)


def ids(entries: tuple[MemoryEntry, ...]) -> list[str]:
    return [each.id for each in entries]


class TestRefusal:
    @rows("tags", [(), ("sensitivity:public",), ("sensitivity:private",)])
    def test_what_is_not_sensitive_is_given_by_default(self, tags: tuple[str, ...]) -> None:
        assert SensitivityFilter().refusal(entry(tags=tags)) == ""

    @rows("tags", [SECRET, ("sensitivity:sensitve",), ("x", *SECRET)])
    def test_what_is_sensitive_or_misspelt_is_not(self, tags: tuple[str, ...]) -> None:
        reason = "it is sensitive, which is not given to agents"
        assert SensitivityFilter().refusal(entry(tags=tags)) == reason

    def test_only_what_is_allowed_is_given(self) -> None:
        clearance = SensitivityFilter((Sensitivity.SENSITIVE,))
        assert clearance.refusal(entry(tags=SECRET)) == ""
        assert clearance.refusal(entry()) == "it is private, which is not given to agents"


class TestRawRecords:
    RAW = ("detailed_experience",)

    async def test_they_are_found_by_no_search_and_read_by_their_id(self) -> None:
        backend = FakeBackend(entry("a", tags=self.RAW), entry("b"))
        found = await SensitivityFilter().search(backend, "ada", MemoryQuery())
        assert (ids(found.permitted), ids(found.withheld)) == (["b"], ["a"])
        assert await SensitivityFilter().read(backend, "ada", "a") is not None

    async def test_sensitive_ones_are_not_read_either(self) -> None:
        backend = FakeBackend(entry("a", tags=(*self.RAW, *SECRET)))
        assert await SensitivityFilter().read(backend, "ada", "a") is None


class TestSearch:
    async def search(self, limit: int, *entries: MemoryEntry) -> tuple[list[str], list[str]]:
        self.backend = FakeBackend(*entries)
        cleared = await SensitivityFilter().search(self.backend, "ada", MemoryQuery(limit=limit))
        return ids(cleared.permitted), ids(cleared.withheld)

    async def test_what_is_withheld_is_told_apart(self) -> None:
        found = await self.search(5, entry("a"), entry("b", tags=SECRET), entry("c"))
        assert found == (["a", "c"], ["b"])
        assert len(self.backend.queries) == 1

    async def test_what_is_withheld_takes_no_ones_place(self) -> None:
        secrets = [entry(f"s{n}", tags=SECRET) for n in range(9)]
        permitted, withheld = await self.search(2, *secrets, entry("a"), entry("b"), entry("c"))
        assert (permitted, len(withheld)) == (["a", "b"], 9)
        assert [query.limit for query in self.backend.queries] == [2, 4, 8, 16]

    async def test_no_more_is_asked_for_than_a_query_may(self) -> None:
        secrets = [entry(f"s{n}", tags=SECRET) for n in range(1001)]
        assert (await self.search(600, *secrets))[0] == []
        assert [query.limit for query in self.backend.queries] == [600, 1000]


class TestRead:
    async def test_a_withheld_memory_reads_like_a_missing_one(self) -> None:
        backend = FakeBackend(entry("a"), entry("b", tags=SECRET))
        found = [await SensitivityFilter().read(backend, "ada", key) for key in ("a", "b", "c")]
        assert found == [entry("a"), None, None]
