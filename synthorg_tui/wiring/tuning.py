"""Builds the service of fine-tuning, and puts the deployed checkpoint in force when a store opens.

What is kept of ``memory.fine_tune`` goes through the settings that a person changes, so that it is
listed, explained and undone like any other; a program that made its settings itself has it kept
without that list.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.settings_kv import kept_settings
from synthorg_tui.settings.kept import kept_in

if TYPE_CHECKING:
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.memory.fine_tune.checkpoints import EmbedderInForce
    from synthorg_tui.memory.fine_tune.deployment import EmbedderSetting
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.settings.changes import SettingChanges
    from synthorg_tui.wiring.foundation import Foundation

SETTING: Final = "memory.fine_tune"


async def follow_deployed(base: "Foundation") -> None:
    """Put in force the checkpoint that the settings name; without one nothing is loaded.

    One that is damaged, or was made for another embedder, isn't used: the base is, and why is told
    by ``MemoryService.get_active_embedder``.
    """
    from synthorg_tui.memory.fine_tune.store import FineTuneStore

    config = await _configured(base)
    if config.enabled and isinstance(base.memory, LocalMemoryBackend):
        await in_force_of(base).follow(config, FineTuneStore(base.database))


def in_force_of(base: "Foundation") -> "EmbedderInForce":
    """Return the one object that knows which checkpoint is in force here."""
    from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles, EmbedderInForce

    if base.tuned is None:
        files, provider = CheckpointFiles(base.data_dir), base.settings.embedding().type
        base.tuned = EmbedderInForce(base.local().core, files, provider=provider)
    return base.tuned


def build_memory_service(
    base: "Foundation",
    registry: "Callable[[], SkillRegistry]",
    kept: "Callable[[], SettingChanges]",
    model: "Callable[[], CompletionProvider | None]",
) -> "MemoryService":
    """Build the service; with another than the local backend each of its methods says so.

    ``model`` may write questions to learn from, where a person asks for that.
    """
    from synthorg_tui.curation.asked import approved_questions
    from synthorg_tui.memory.evaluation.questions import EvalQuestion
    from synthorg_tui.memory.evaluation.recorded import RecordedQuestions
    from synthorg_tui.memory.fine_tune.deployment import CheckpointSwaps
    from synthorg_tui.memory.fine_tune.generating import questions_in
    from synthorg_tui.memory.fine_tune.pipeline import TuningParts
    from synthorg_tui.memory.fine_tune.store import FineTuneStore
    from synthorg_tui.memory.service import MemoryService

    if not isinstance(base.memory, LocalMemoryBackend):
        reason = f"the {base.memory.backend_name} backend has no embedder of ours to tune"
        return MemoryService(None, reason=reason)

    async def asked() -> tuple[EvalQuestion, ...]:
        recorded = await RecordedQuestions(base.database).all()
        given: tuple[EvalQuestion, ...] = ()
        if (folder := base.settings.memory.fine_tune.training_data_dir) is not None:
            given = await asyncio.to_thread(questions_in, Path(folder))
        return (*recorded, *await approved_questions(registry()), *given)

    store, in_force = FineTuneStore(base.database), in_force_of(base)
    swaps = CheckpointSwaps(store, in_force, _setting(base, kept))
    parts = TuningParts(base.local().core, store, in_force, asked, base.data_dir, swaps, model)
    service = MemoryService(parts)
    base.closing.push_async_callback(service.close)
    return service


async def _configured(base: "Foundation") -> EmbeddingFineTuneConfig:
    """What the settings say; those that a program made say what is kept, unless they say more."""
    config = base.settings.memory.fine_tune
    if config.enabled or base.settings.layers is not None:
        return config
    kept = await _kept(base)
    if kept is None:
        return config
    try:
        return EmbeddingFineTuneConfig.model_validate_json(kept)
    except ValueError:
        return config


async def _kept(base: "Foundation") -> str | None:
    found = kept_in(await base.database.read(kept_settings)).get(SETTING)
    return found.text if found is not None else None


def _setting(base: "Foundation", kept: "Callable[[], SettingChanges]") -> "EmbedderSetting":
    """How the deployed checkpoint is kept for the next start."""
    from synthorg_tui.memory.fine_tune.deployment import EmbedderSetting

    write = _write_beside if base.settings.layers is None else partial(_write_listed, kept)
    return EmbedderSetting(partial(_kept, base), partial(write, base))


async def _write_listed(
    kept: "Callable[[], SettingChanges]", base: "Foundation", value: str | None, actor: str
) -> None:
    """Change the setting as a person does, so that the list of changes has it."""
    if value is not None:
        change = await kept().set(SETTING, value, actor=actor)
        if change.takes is not None and change.takes.value == "overruled":
            await kept().unset(SETTING, actor=actor)
            raise DomainError(
                f"{SETTING} can't be changed here: {change.why}",
                remedy="Take it out of there; then deploy again.",
            )
    elif await _kept(base) is not None:
        await kept().unset(SETTING, actor=actor)


async def _write_beside(base: "Foundation", value: str | None, actor: str) -> None:
    """Keep the setting of a program that made its settings itself."""
    from synthorg_tui.persistence.entities import Setting
    from synthorg_tui.persistence.operational import DuckDBPersistence

    repository = DuckDBPersistence(base.database).settings
    namespace, _, key = SETTING.partition(".")
    if value is None:
        await repository.delete(namespace, key)
        return
    now = base.clock.now()
    said: dict[str, Any] = {"value": json.loads(value), "over": "", "by": actor}
    text = json.dumps({**said, "at": now.isoformat()})
    await repository.save(Setting(namespace=namespace, key=key, value=text, updated_at=now))
