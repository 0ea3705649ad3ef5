"""Groups, what would stand for them, and that saying so changes nothing."""

from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.abstractive import AbstractiveSummarizer
from synthorg_tui.memory.consolidation.archival import Departures
from synthorg_tui.memory.consolidation.config import ArchivalConfig, ConsolidationConfig
from synthorg_tui.memory.consolidation.config import DualModeConfig as Dual
from synthorg_tui.memory.consolidation.density import DensityClassifier
from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver
from synthorg_tui.memory.consolidation.factory import create_consolidation_strategy
from synthorg_tui.memory.consolidation.models import ArchivalEntry, ArchivalMode
from synthorg_tui.memory.consolidation.operations import ConcatenationOp, DensityRoutingOp
from synthorg_tui.memory.consolidation.plan import TextAuthor
from synthorg_tui.memory.consolidation.strategy import (
    Composite,
    ConsolidationStrategy,
    HighestRelevanceSelector,
    ProposingStrategy,
    carry_out,
)
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.providers.completion.protocol import CompletionProvider
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    DENSE,
    SPARSE,
    TODAY,
    Agent,
    InMemoryArchivalStore,
    agent_of,
    entry,
    group,
)
from tests.scripted import ScriptedProvider
from tests.tables import rows

SEMANTIC = MemoryCategory.SEMANTIC


def groups(*entries: MemoryEntry, threshold: int = 2) -> list[tuple[str, list[str]]]:
    found = HighestRelevanceSelector(threshold).groups(entries, AGENT)
    return [(one.kept.id, [other.id for other in one.others]) for one in found]


def routing(*answers: str | Exception, threshold: float = 0.5) -> DensityRoutingOp:
    summarizer = AbstractiveSummarizer(provider=ScriptedProvider(*answers), model="m")
    return DensityRoutingOp(DensityClassifier(threshold), ExtractivePreserver(), summarizer)


def simple(backend: MemoryBackend) -> Composite:
    return Composite(HighestRelevanceSelector(2), ConcatenationOp(), backend)


class TestSelection:
    def test_groups_are_of_one_category_in_the_order_of_their_names(self) -> None:
        mixed = [
            entry("s1", category=SEMANTIC),
            entry("e1", days=1),
            entry("s2", category=SEMANTIC, days=1),
            entry("e2", days=2),
        ]
        assert groups(*mixed) == [("e1", ["e2"]), ("s1", ["s2"])]

    def test_groups_below_the_threshold_are_left_alone(self) -> None:
        pair = (entry("a"), entry("b", days=1))
        assert groups(*pair, threshold=3) == []
        assert groups(*pair, entry("c", days=2), threshold=3) == [("a", ["b", "c"])]

    def test_a_group_of_one_is_none(self) -> None:
        with pytest.raises(ValueError, match="group_threshold"):
            HighestRelevanceSelector(1)

    def test_the_most_relevant_is_kept_then_the_newest(self) -> None:
        relevant = entry("old", relevance=0.2, days=9)
        assert groups(relevant, entry("new"), entry("zero", relevance=0.0, days=1)) == [
            ("old", ["new", "zero"])
        ]
        assert groups(entry("old", days=9), entry("new"))[0][0] == "new"

    @rows(
        "tag",
        [
            "consolidated",
            "detailed_experience",
            "compressed_experience",
            "pinned",
            "core",
            "fact:k",
        ],
    )
    def test_what_must_stay_as_it_is_is_in_no_group(self, tag: str) -> None:
        assert groups(entry("a"), entry("b", tags=(tag,)), entry("c", days=1)) == [("a", ["c"])]

    @rows("kind", ["recovery", "said", "knowledge"])
    def test_neither_are_remedies_and_a_persons_words(self, kind: str) -> None:
        assert groups(entry("a"), entry("b", tags=(kind,)), entry("c", days=1)) == [("a", ["c"])]

    def test_neither_are_lessons_that_a_person_approved(self) -> None:
        lesson = entry("l", "[DISCOVERY] x", category=MemoryCategory.PROCEDURAL)
        other = entry("m", "do it so", category=MemoryCategory.PROCEDURAL)
        assert groups(lesson, other) == []


class TestConcatenation:
    async def test_the_list_has_the_beginnings_of_what_leaves(self) -> None:
        long = "x" * 201
        proposed = await ConcatenationOp().propose(
            group(entry("k"), entry("a", "A"), entry("b", long))
        )
        assert proposed.text.content == f"Consolidated episodic memories:\n- A\n- {'x' * 200}..."
        assert (proposed.text.tags, proposed.text.source) == (("consolidated",), "consolidation")
        assert proposed.replaces == ("a", "b")
        assert proposed.text.written_by is TextAuthor.CODE
        assert proposed.text.category == MemoryCategory.EPISODIC

    async def test_a_summary_is_no_less_sensitive_and_no_surer_than_its_sources(self) -> None:
        secret = entry("a", tags=("sensitivity:sensitive",), confidence=0.4)
        proposed = await ConcatenationOp().propose(group(entry("k"), secret, entry("b")))
        assert proposed.text.tags == ("consolidated", "sensitivity:sensitive")
        assert proposed.text.confidence == 0.4

    async def test_it_ends_with_the_last_of_them_and_never_if_one_of_them_does_not(self) -> None:
        soon, later = TODAY + timedelta(days=1), TODAY + timedelta(days=2)
        ending = group(entry("k"), entry("a", expires=later), entry("b", expires=soon))
        assert (await ConcatenationOp().propose(ending)).text.expires_at == later
        mixed = group(entry("k"), entry("a", expires=later), entry("b"))
        assert (await ConcatenationOp().propose(mixed)).text.expires_at is None

    async def test_it_stays_in_the_namespace_that_they_share(self) -> None:
        one = group(entry("k"), entry("a", namespace="n"), entry("b", namespace="n"))
        two = group(entry("k"), entry("a", namespace="n"), entry("b", namespace="m"))
        assert (await ConcatenationOp().propose(one)).text.namespace == "n"
        assert (await ConcatenationOp().propose(two)).text.namespace == "default"


class TestDensityRouting:
    async def test_a_mostly_dense_group_is_quoted(self) -> None:
        dense = group(entry("k", DENSE), entry("a", DENSE), entry("b", SPARSE))
        proposed = await routing().propose(dense)
        assert proposed.text.mode == ArchivalMode.EXTRACTIVE
        assert proposed.text.tags == ("consolidated", "mode:extractive")
        assert proposed.text.content.count("[Extractive preservation]") == 2
        assert "\n---\n" in proposed.text.content
        assert proposed.text.written_by is TextAuthor.CODE

    async def test_a_tie_is_summarised_and_the_kept_one_votes(self) -> None:
        tie = group(entry("k", DENSE), entry("a", SPARSE))
        short = SPARSE.split(".")[0]
        proposed = await routing(short).propose(tie)
        assert proposed.text.mode == ArchivalMode.ABSTRACTIVE
        assert proposed.text.tags == ("consolidated", "mode:abstractive")
        assert (proposed.text.content, proposed.text.written_by) == (short, TextAuthor.MODEL)

    async def test_without_a_model_sparse_texts_are_cut_by_code(self) -> None:
        op = DensityRoutingOp(DensityClassifier(), ExtractivePreserver())
        proposed = await op.propose(group(entry("k"), entry("a", "x" * 300), entry("b", "y")))
        assert proposed.text.content == "x" * 200 + "...\n---\ny"
        assert proposed.text.written_by is TextAuthor.CODE


class RefusingBackend:
    """Passes everything on, but deletes nothing of what is named."""

    def __init__(self, agent: Agent, *, kept: str = "", broken: str = "") -> None:
        self.agent, self.kept, self.broken = agent, kept, broken

    def __getattr__(self, name: str) -> object:
        return getattr(self.agent.backend, name)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        if memory_id == self.broken:
            raise MemoryStoreError("broken")
        return memory_id != self.kept and await self.agent.backend.delete(agent_id, memory_id)


@pytest.mark.parametrize("kind", ["inmemory", "local"])
class TestDoing:
    async def test_proposing_changes_nothing_and_consolidating_does_it(
        self, kind: str, tmp_path: Path
    ) -> None:
        async with agent_of(kind, tmp_path) as agent:
            old = await agent.has("the old one", days=3)
            middle = await agent.has("the middle one", days=2)
            await agent.has("the new one", days=1)
            before = await agent.entries()
            strategy = simple(agent.backend)
            (proposed,) = await strategy.propose(before, AGENT)
            assert await agent.entries() == before
            result = await strategy.consolidate(before, AGENT)
            assert set(result.removed_ids) == {old, middle} == set(proposed.replaces)
            assert result.mode_assignments == ()
            stored = await agent.backend.get(AGENT, str(result.summary_id))
            assert stored is not None
            assert stored.content == proposed.text.content
            assert await agent.contents() == {"the new one", proposed.text.content}

    async def test_once_done_there_is_nothing_more_to_do(self, kind: str, tmp_path: Path) -> None:
        async with agent_of(kind, tmp_path) as agent:
            for days in range(4):
                await agent.has(f"memory {days}", days=days)
            strategy = simple(agent.backend)
            await strategy.consolidate(await agent.entries(), AGENT)
            assert (await strategy.consolidate(await agent.entries(), AGENT)).removed_ids == ()


class TestDeletionThatFails:
    async def prepared(self, agent: Agent) -> tuple[str, str, str]:
        return (
            await agent.has(SPARSE, days=1),
            await agent.has(f"{SPARSE} And more.", days=2),
            await agent.has(f"{SPARSE} And again.", days=3),
        )

    async def test_what_is_still_there_is_neither_removed_nor_assigned_by_density(
        self, tmp_path: Path
    ) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            _, second, third = await self.prepared(agent)
            backend: MemoryBackend = RefusingBackend(agent, kept=second)  # type: ignore[assignment]
            op = DensityRoutingOp(DensityClassifier(), ExtractivePreserver())
            strategy = Composite(HighestRelevanceSelector(), op, backend)
            result = await strategy.consolidate(await agent.entries(), AGENT)
            assert result.removed_ids == (third,)
            assert [(one.original_id, one.mode) for one in result.mode_assignments] == [
                (third, ArchivalMode.ABSTRACTIVE)
            ]

    async def test_one_that_raises_is_skipped_and_does_not_stop_the_rest(
        self, tmp_path: Path
    ) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            _, second, third = await self.prepared(agent)
            backend: MemoryBackend = RefusingBackend(agent, broken=second)  # type: ignore[assignment]
            result = await simple(backend).consolidate(await agent.entries(), AGENT)
            assert result.removed_ids == (third,)

    async def test_a_list_of_beginnings_takes_their_being_gone_for_granted(
        self, tmp_path: Path
    ) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            _, second, third = await self.prepared(agent)
            backend: MemoryBackend = RefusingBackend(agent, kept=second)  # type: ignore[assignment]
            result = await simple(backend).consolidate(await agent.entries(), AGENT)
            assert result.removed_ids == (second, third)

    async def test_what_can_not_be_archived_stays_and_of_nothing_no_summary_is_made(
        self, tmp_path: Path
    ) -> None:
        class Never(InMemoryArchivalStore):
            async def archive(self, entry: ArchivalEntry) -> str:
                raise OSError("full")

        async with agent_of("inmemory", tmp_path) as agent:
            await self.prepared(agent)
            before = await agent.entries()
            proposals = await simple(agent.backend).propose(before, AGENT)
            result = await carry_out(proposals, before, Departures(agent.backend, Never()))
            assert (result.removed_ids, result.summary_ids) == ((), ())
            assert await agent.entries() == before


class TestFactory:
    @rows(
        ("fields", "tags"),
        [
            ({}, ("consolidated",)),
            ({"strategy": "dual_mode"}, ("consolidated", "mode:abstractive")),
            ({"strategy": "llm"}, ("consolidated", "concat-fallback")),
        ],
    )
    async def test_the_settings_name_the_strategy(
        self, fields: dict[str, str], tags: tuple[str, ...], tmp_path: Path
    ) -> None:
        config = ConsolidationConfig.model_validate(fields)
        async with agent_of("inmemory", tmp_path) as agent:
            strategy = create_consolidation_strategy(config, backend=agent.backend)
            assert isinstance(strategy, ConsolidationStrategy)
            assert isinstance(strategy, ProposingStrategy)
            (proposed,) = await strategy.propose((entry("a"), entry("b"), entry("c")), AGENT)
            assert proposed.text.tags == tags

    async def test_dual_mode_enabled_takes_the_place_of_simple_with_its_own_model(
        self, tmp_path: Path
    ) -> None:
        asked: list[str | None] = []

        def models(name: str | None) -> CompletionProvider:
            asked.append(name)
            return ScriptedProvider("Texts.", "Texts.")

        dual = Dual(enabled=True, summarization_model="small")
        config = ConsolidationConfig(archival=ArchivalConfig(dual_mode=dual))
        async with agent_of("inmemory", tmp_path) as agent:
            strategy = create_consolidation_strategy(config, backend=agent.backend, models=models)
            (proposed,) = await strategy.propose((entry("a"), entry("b"), entry("c")), AGENT)
            assert (proposed.text.content, asked) == ("Texts.\n---\nTexts.", ["small"])
