"""The bundled model of 135 million parameters: whatever it says, there is a text within bounds."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.providers.completion.config import GgufModelConfig
from synthorg_tui.providers.completion.factory import bundled_model, create_completion_provider
from tests.memory.consolidation.consolidation_kit import AGENT, agent_of, made_service


@pytest.mark.long
async def test_a_small_models_summary_is_never_empty_nor_over_its_budget(tmp_path: Path) -> None:
    path = bundled_model()
    if path is None or find_spec("llama_cpp") is None:
        pytest.skip("the local model runtime is not installed: make model")
    model = GgufModelConfig(type="gguf", path=path, context_tokens=512, threads=1)
    provider = create_completion_provider(model)
    config = ConsolidationConfig.model_validate(
        {"strategy": "llm", "llm": {"max_summary_tokens": 50}}
    )
    async with agent_of("inmemory", tmp_path) as agent:
        for days in (1, 2, 3):
            await agent.has(f"{days}: The team talked about the release.", days=days)
        await agent.has("too long to be read at once. " * 80, days=4)
        before = {entry.id for entry in await agent.entries()}
        made = made_service(config, backend=agent.backend, models=lambda name: provider)
        result = await made.run_consolidation(AGENT)
        stored = await agent.backend.get(AGENT, str(result.summary_id))
        assert stored is not None
        assert set(result.removed_ids) <= before
        if "llm-synthesized" in stored.metadata.tags:
            assert 0 < estimate_tokens(stored.content) <= 50
        else:
            assert "concat-fallback" in stored.metadata.tags
            assert stored.content.startswith("Consolidated episodic memories:\n- ")
    assert provider is not None
    await provider.close()
