"""Settings with fixed values, which the screen changes as it would those of a store."""

from dataclasses import replace
from datetime import timedelta

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.settings.changes import SettingChange, Takes
from synthorg_tui.settings.kept import SettingTrial
from synthorg_tui.settings.listing import ListedSetting, list_settings
from synthorg_tui.settings.loader import load_settings, shipped_settings
from synthorg_tui.settings.safety import Loosened
from synthorg_tui.settings.switches import SWITCHES, Switch, switches
from synthorg_tui.tui.manage.setting_acts import SettingActs
from synthorg_tui.wiring.mirrors import holds_at_once
from tests.tui.tui_fakes import NOW

FILE = "/etc/synthorg/company.yaml"
KEPT = "kept in the app"
WHEN = "changed a person at the app, 2026-01-01 09:30"
MOST = "memory.retrieval.max_memories"


SHOWN = ("memory.", "ingest.", "jobs.", "approvals.", "agent_access.")


def defaults() -> tuple[ListedSetting, ...]:
    """Settings of some sections as shipped, but what depends on the machine."""
    everything = list_settings(None, environ={}, at_once=holds_at_once)
    listed = [each for each in everything if each.path.startswith(SHOWN)]
    shown = '"~/.local/share/synthorg-tui"'
    return tuple(
        replace(each, value=shown, default=shown) if each.path.endswith("data_dir") else each
        for each in listed
    )


def changed() -> tuple[ListedSetting, ...]:
    """One setting of every source, one that waits, one passed over, and one of another version."""
    given = {
        "memory.level": {"value": '"session"', "source": f"{FILE}:2", "written": "session"},
        MOST: {
            "value": "7", "written": "7", "source": KEPT, "is_kept": True,
            "notes": (WHEN, f"{FILE}:4 says 5; R goes back to it"),
        },
        "memory.retrieval.max_diary": {
            "value": "3", "written": "3", "source": "SYNTHORG__MEMORY__RETRIEVAL__MAX_DIARY",
        },
        "memory.retrieval.min_relevance": {
            "value": "0.4", "written": "0.4", "source": f"{FILE}:5", "is_kept": True,
            "notes": ("0.2 is kept in the app", f"{FILE}:5 was changed since, and says 0.4"),
        },
        "memory.procedural.enabled": {
            "value": "false", "written": "false", "source": KEPT, "is_kept": True,
            "notes": (WHEN,),
        },
        "jobs.packing": {
            "value": '"never"', "written": "never", "source": KEPT, "is_kept": True, "waits": True,
            "notes": (WHEN,),
        },
    }  # fmt: skip
    listed = [replace(each, **given.get(each.path, {})) for each in defaults()]  # type: ignore[arg-type]
    why = "memory.telepathy: unknown setting"
    stray = ListedSetting(
        "memory.telepathy", "true", KEPT, "", is_kept=True, notes=(why,), fixed=why
    )
    return (*listed, stray)


class FakeSettings(SettingActs):
    """Answers with ``rows``; ``problem`` is raised instead, ``refusal`` by the next change."""

    def __init__(self, rows: tuple[ListedSetting, ...] | None = None, problem: str = "") -> None:
        self.rows = defaults() if rows is None else rows
        self.problem = problem
        self.refusal: ConfigError | None = None
        self.takes = Takes.NOW
        self.asked: list[str] = []
        self.agreed: list[Loosened] = []
        self.made: list[SettingChange] = []

    async def listed(self) -> tuple[ListedSetting, ...]:
        if self.problem:
            raise ConfigError(self.problem)
        return self.rows

    async def refresh(self) -> None:
        self.asked.append("refresh")

    async def switches(self) -> tuple[tuple[Switch, bool], ...]:
        values = {each.path: each.written for each in self.rows}
        known = [switch for switch, _ in switches(shipped_settings())]
        return tuple((it, values.get(it.path) != it.off) for it in SWITCHES if it in known)

    async def trial(self) -> SettingTrial:
        return SettingTrial(load_settings(environ={}), {})

    async def change(self, path: str, written: str, seen: str | None = None) -> SettingChange:
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        self.asked.append(f"{path} = {written}")
        self.rows = tuple(
            replace(each, value=written, written=written, source=KEPT, is_kept=True)
            if each.path == path
            else each
            for each in self.rows
        )
        return self._made(path, "", written)

    async def reset(self, path: str) -> SettingChange:
        self.asked.append(f"reset {path}")
        return self._made(path, "7", "")

    async def undo(self) -> SettingChange:
        self.asked.append("undo")
        return self._made(MOST, "7", "")

    async def redo(self) -> SettingChange:
        self.asked.append("redo")
        return self._made(MOST, "", "7")

    async def changes(self) -> tuple[SettingChange, ...]:
        return tuple(reversed(self.made))

    async def asks(self) -> tuple[Loosened, ...]:
        return (Loosened("approvals.review", "all", "uncertain"),)

    async def agree(self, accepted: tuple[Loosened, ...]) -> None:
        self.agreed += accepted

    def _made(self, path: str, before: str, after: str) -> SettingChange:
        at = NOW - timedelta(minutes=len(self.made))
        number = len(self.made) + 1
        change = SettingChange(
            number, path, before, after, "person (tui)", at, takes=self.takes, why="it is set above"
        )
        self.made.append(change)
        return change
