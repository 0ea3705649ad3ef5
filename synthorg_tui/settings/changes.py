"""Changes of settings from within the app: kept in the store, undone and redone, with who and when.

The values are in the repository of settings; what was changed is a list to which lines are only
added, so that undo works after a restart too. Whether a kept value holds is decided in ``kept``.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.repositories import SettingsRepository
from synthorg_tui.settings.kept import (
    KeptSetting,
    SettingTrial,
    fixed,
    kept_in,
    said_in_file,
    split,
    with_kept,
)
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import SAFETY

MAX_LISTED: Final = 1000
"""Most changes that are listed, and that are looked through for one to undo."""


class Takes(StrEnum):
    """When a change holds: at once, from the next start, once a person agreed, or not at all."""

    NOW = "now"
    RESTART = "restart"
    AGREEMENT = "agreement"
    OVERRULED = "overruled"


class ChangeDone(StrEnum):
    """What a change was: a value set or taken back, one undone, or one redone."""

    SET = "set"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change; ``before`` and ``after`` are JSON, empty where nothing was kept.

    ``of`` is the number of the change that an undo or redo is about. ``takes`` and ``why`` are told
    of a change that was just made.
    """

    number: int
    path: str
    before: str
    after: str
    by: str
    at: datetime
    done: ChangeDone = ChangeDone.SET
    of: int = 0
    takes: Takes | None = None
    why: str = ""


class SettingChanges:
    """Keeps settings that a person changes, and lets the running services have them.

    Args:
        repository: Keeps the values.
        database: Keeps the list of changes.
        clock: Tells when a change is made.
        running: Returns the settings that the services run with.
        mirror: Gives the services the settings as they are to be, as far as they can take them,
            and returns those that they run with then.
    """

    def __init__(
        self,
        repository: SettingsRepository,
        database: StoreDatabase,
        clock: Clock,
        running: Callable[[], RootConfig],
        mirror: Callable[[RootConfig], Awaitable[RootConfig]],
    ) -> None:
        self._repository = repository
        self._database = database
        self._clock = clock
        self._running = running
        self._mirror = mirror
        self._one = asyncio.Lock()

    async def kept(self) -> tuple[KeptSetting, ...]:
        """Return what is kept, the oldest first, also what doesn't hold."""
        return tuple((await self._kept()).values())

    async def _kept(self) -> dict[str, KeptSetting]:
        rows = await self._repository.query()
        return kept_in((row.namespace, row.key, row.value) for row in rows)

    async def trial(self) -> SettingTrial:
        """Return what checks values before they are kept, by the file as it is now."""
        return SettingTrial(*await self._present())

    async def set(
        self, path: str, written: str, *, actor: str, seen: str | None = None
    ) -> SettingChange:
        """Keep a value, written as in the settings file, in place of the one before.

        ``seen`` is what the file said of it when the person looked, by ``SettingTrial.said``.
        Raises ``ConfigError`` for a setting or a value that can't be, where the settings file has
        become invalid, and where it says something else than what was seen.
        """
        async with self._one:
            trial = await self.trial()
            value = trial.parsed(path, written)
            if seen is not None and trial.said(path) != seen:
                raise ConfigError(
                    f"the file was changed meanwhile: it says {trial.said(path) or 'nothing'} of "
                    f"{path} now",
                    remedy="Once more takes your value all the same.",
                )
            return await self._put(path, json.dumps(value, ensure_ascii=False), actor)

    async def unset(self, path: str, *, actor: str) -> SettingChange:
        """Keep nothing of a setting any more: the file holds, or the default.

        Raises ``ConfigError`` when nothing is kept of it.
        """
        async with self._one:
            if path not in await self._kept():
                raise ConfigError(
                    f"{path}: nothing is kept of it",
                    remedy="`synthorg-tui config explain` says where each value comes from.",
                )
            return await self._put(path, "", actor)

    async def changes(self, *, limit: int = 100) -> tuple[SettingChange, ...]:
        """Return the latest changes, newest first."""
        return await self._database.read(lambda db: _changes(db, min(limit, MAX_LISTED)))

    async def undo(self, *, actor: str) -> SettingChange:
        """Undo the last change that stands; raises ``DomainError`` when there is none."""
        async with self._one:
            change = self._last(_stacks(await self.changes(limit=MAX_LISTED))[0], "undo")
            return await self._put(change.path, change.before, actor, ChangeDone.UNDO, change)

    async def redo(self, *, actor: str) -> SettingChange:
        """Make the change again that was undone last, unless another was made since."""
        async with self._one:
            change = self._last(_stacks(await self.changes(limit=MAX_LISTED))[1], "redo")
            return await self._put(change.path, change.after, actor, ChangeDone.REDO, change)

    async def refresh(self) -> RootConfig:
        """Let the services have what the file and the store say now; return what they run with."""
        settings, kept = await self._present()
        return await self._mirror(with_kept(settings, kept).settings)

    @staticmethod
    def _last(changes: list[SettingChange], verb: str) -> SettingChange:
        if not changes:
            raise DomainError(f"there is no change of a setting to {verb}")
        return changes[-1]

    async def _present(self) -> tuple[RootConfig, dict[str, KeptSetting]]:
        """The settings of the file as it is now, and what is kept."""
        layers = self._running().layers
        if layers is None:
            raise ConfigError("these settings were made by a program; none can be changed")
        settings = await asyncio.to_thread(load_settings, layers.asked)
        return settings, await self._kept()

    async def _put(
        self,
        path: str,
        text: str,
        actor: str,
        done: ChangeDone = ChangeDone.SET,
        of: SettingChange | None = None,
    ) -> SettingChange:
        """Keep a value, or none for an empty text, and note the change."""
        _require_person(actor)
        settings, kept = await self._present()
        if text and (why := fixed(path)):
            raise ConfigError(f"{path} can't be changed here: {why}")
        if text:
            SettingTrial(settings, kept).check(path, json.loads(text))
        before = kept.pop(path, None)
        namespace, _, key = path.partition(".")
        now = self._clock.now()
        if text:
            assert settings.layers is not None
            over = said_in_file(settings.layers, split(path))
            kept[path] = KeptSetting(path, text, over, actor, now)
            said = {"value": json.loads(text), "over": over, "by": actor, "at": now.isoformat()}
            from synthorg_tui.persistence.entities import Setting

            row = Setting(namespace=namespace, key=key, value=json.dumps(said), updated_at=now)
            await self._repository.save(row)
        else:
            await self._repository.delete(namespace, key)
        number = of.number if of is not None else 0
        change = SettingChange(
            0, path, before.text if before else "", text, actor, now, done, number
        )
        change = await self._database.write(lambda db: _note(db, change))
        return await self._told(change, settings, kept)

    async def _told(
        self, change: SettingChange, settings: RootConfig, kept: Mapping[str, KeptSetting]
    ) -> SettingChange:
        """The change with when it holds, after the services were given it."""
        outcome = with_kept(settings, kept)
        running = await self._mirror(outcome.settings)
        wanted, path = value_at(outcome.settings, change.path), change.path
        if path in outcome.passed_over:
            return replace(change, takes=Takes.OVERRULED, why=outcome.passed_over[path])
        if value_at(running, path) == wanted:
            return replace(change, takes=Takes.NOW)
        takes = Takes.AGREEMENT if path in SAFETY and await self._waits(path) else Takes.RESTART
        return replace(change, takes=takes)

    async def _waits(self, path: str) -> bool:
        """Whether a safety setting waits for the person's yes."""
        from synthorg_tui.settings.agreed import AgreedSettings

        own = self._running().own_safety
        found = await AgreedSettings(self._database, own, clock=self._clock).loosened()
        return path in {each.path for each in found}


def _require_person(actor: str) -> None:
    """Refuse an agent, whatever way it found here."""
    who = Actor.parse(actor)
    if who.kind in (ActorKind.AGENT, ActorKind.ENVIRONMENT):
        raise DecisionRefusedError(f"{who.words} can't change settings; only a person does")


def value_at(settings: RootConfig, path: str) -> object:
    """Return the value of a setting; ``None`` also for one that isn't there."""
    found: object = settings
    for name in split(path):
        found = getattr(found, str(name), None)
    return found


def _stacks(
    changes: tuple[SettingChange, ...],
) -> tuple[list[SettingChange], list[SettingChange]]:
    """The changes that can be undone and redone, each with the next one last."""
    done: list[SettingChange] = []
    undone: list[SettingChange] = []
    for change in reversed(changes):
        if change.done is ChangeDone.SET:
            done.append(change)
            undone.clear()
        elif change.done is ChangeDone.UNDO and done:
            undone.append(done.pop())
        elif change.done is ChangeDone.REDO and undone:
            done.append(undone.pop())
    return done, undone


_COLUMNS: Final = "number, path, before, after, actor, changed_at, done, of_number"


def _changes(db: Connection, limit: int) -> tuple[SettingChange, ...]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM setting_changes ORDER BY number DESC LIMIT ?", [limit]
    ).fetchall()
    return tuple(
        SettingChange(number, path, before, after, by, at.replace(tzinfo=UTC), ChangeDone(done), of)
        for number, path, before, after, by, at, done, of in rows
    )


def _note(db: Connection, change: SettingChange) -> SettingChange:
    row = db.execute("SELECT coalesce(max(number), 0) + 1 FROM setting_changes").fetchone()
    assert row is not None
    change = replace(change, number=row[0])
    at = change.at.astimezone(UTC).replace(tzinfo=None)
    db.execute(
        f"INSERT INTO setting_changes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [change.number, change.path, change.before, change.after, change.by, at, change.done.value,
         change.of],
    )  # fmt: skip
    return change
