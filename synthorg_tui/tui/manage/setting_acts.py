"""What the settings screen asks of the engine, with the person who changes.

The app starts without the engine, so what loads it is imported inside. Where an agent runs the app
every change is refused.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.settings.changes import SettingChange
    from synthorg_tui.settings.kept import SettingTrial
    from synthorg_tui.settings.listing import ListedSetting
    from synthorg_tui.settings.safety import Loosened
    from synthorg_tui.settings.switches import Switch


class SettingActs:
    """Lists and changes the settings of the open engine, which ``engine`` returns or refuses."""

    def __init__(self, engine: "Callable[[], Engine]", config_path: Path | None) -> None:
        self._engine = engine
        self._config_path = config_path

    async def listed(self) -> "tuple[ListedSetting, ...]":
        """Return every setting as after a start now; raises ``ConfigError``."""
        from synthorg_tui.settings.listing import list_settings
        from synthorg_tui.wiring.mirrors import holds_at_once

        engine = self._engine()
        kept = await engine.kept.kept()
        return await asyncio.to_thread(
            list_settings,
            self._config_path,
            running=engine.settings,
            kept=kept,
            at_once=holds_at_once,
        )

    async def refresh(self) -> None:
        """Let the services have what the file says now; raises ``ConfigError``."""
        await self._engine().kept.refresh()

    async def switches(self) -> "tuple[tuple[Switch, bool], ...]":
        """Return the kill switches, each with whether it is on now."""
        from synthorg_tui.settings.switches import switches

        return switches(self._engine().settings)

    async def trial(self) -> "SettingTrial":
        """Return what checks a value while it is written."""
        _person()
        return await self._engine().kept.trial()

    async def change(self, path: str, written: str, seen: str | None = None) -> "SettingChange":
        """Keep a value; see ``SettingChanges.set``."""
        actor = _person()
        return await self._engine().kept.set(path, written, actor=actor, seen=seen)

    async def reset(self, path: str) -> "SettingChange":
        """Keep nothing of a setting any more."""
        actor = _person()
        return await self._engine().kept.unset(path, actor=actor)

    async def undo(self) -> "SettingChange":
        """Undo the last change."""
        actor = _person()
        return await self._engine().kept.undo(actor=actor)

    async def redo(self) -> "SettingChange":
        """Make the change again that was undone last."""
        actor = _person()
        return await self._engine().kept.redo(actor=actor)

    async def changes(self) -> "tuple[SettingChange, ...]":
        """Return the latest changes, newest first."""
        return await self._engine().kept.changes()

    async def asks(self) -> "tuple[Loosened, ...]":
        """Return the safety settings that are looser than agreed, for a person to say yes to."""
        _person()
        return await self._engine().safety.loosened()

    async def agree(self, accepted: "tuple[Loosened, ...]") -> None:
        """Agree to these values in the person's name, and let the services have them."""
        from synthorg_tui.tui.approvals.adapter import person

        await self._engine().safety.take(accepted, person())
        await self._engine().kept.refresh()


def _person() -> str:
    """Who changes at this screen; raises ``DecisionRefusedError`` where an agent runs the app."""
    from synthorg_tui.tui.approvals.adapter import person

    return str(person())
