"""Lines of the settings screen: the list by section, one setting with all about it, the changes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.paths import short_path
from synthorg_tui.settings.environment import PREFIX
from synthorg_tui.tui.base.formatting import moment
from synthorg_tui.tui.base.lines import Line, facts, line, one_line

if TYPE_CHECKING:
    from synthorg_tui.settings.changes import SettingChange
    from synthorg_tui.settings.listing import ListedSetting
    from synthorg_tui.settings.switches import Switch

KEPT: Final = "kept in the app"
_VALUE_CELLS: Final = 22
_LABEL_CELLS: Final = 9


def setting_rows(
    settings: "Sequence[ListedSetting]",
    words: Sequence[str],
    width: int,
    switches: "Sequence[tuple[Switch, bool]]" = (),
) -> list[tuple[object, Line]]:
    """The switches, then the settings with all the words, each section under its name."""
    rows: list[tuple[object, Line]] = []
    named = {setting.path: setting for setting in settings}
    known = [(switch, is_on) for switch, is_on in switches if switch.path in named]
    if known and not words:
        rows.append((None, _heading("switches: off at once, all of it")))
        rows += [(named[switch.path], _switch_line(switch, on, width)) for switch, on in known]
    section = None
    for setting in settings_among(settings, words):
        begun = setting.path.rpartition(".")[0] or setting.path
        if begun != section:
            section = begun
            rows.append((None, _heading(section)))
        rows.append((setting, setting_line(setting, width)))
    return rows


def _heading(text: str) -> Line:
    heading = line((one_line(text), "muted"), (" ", "faint"))
    heading.fill = "faint"
    return heading


def _switch_line(switch: "Switch", is_on: bool, width: int) -> Line:
    value = line(("on", "good") if is_on else ("OFF", "warn"))
    name = line(("  ", "text"), (switch.title, "text" if is_on else "strong"))
    return name.fit(max(width - 5, 8)).extend(line(("  ", "text"))).extend(value)


def setting_line(setting: "ListedSetting", width: int) -> Line:
    """A setting: its name in its section, its value, and a mark when somebody gave it."""
    given = setting.source != "default"
    mark = "↻" if setting.waits else "◆" if setting.source == KEPT else "●" if given else " "
    if setting.is_kept and setting.source != KEPT:
        mark = "!"
    role = "warn" if mark == "!" else "accent"
    leaf = setting.path.rpartition(".")[2]
    name = line((f"{mark} ", role), (one_line(leaf), "strong" if mark != " " else "text"))
    value = line((one_line(setting.value), "accent" if given else "muted"))
    room = max(width - min(value.width, max(width // 3, _VALUE_CELLS)) - 3, 8)
    return name.fit(room).extend(line(("  ", "text"))).extend(value)


def setting_lines(setting: "ListedSetting", verdict: Line | None = None) -> list[Line]:
    """All about a setting; ``verdict`` is what is to be said of the value being written."""
    known = (
        ("value", one_line(setting.value) or "–", "strong"),
        ("from", one_line(short_path(setting.source)) or "–", "text"),
        ("default", one_line(setting.default) or "–", "text"),
        ("allowed", one_line(setting.allowed or "anything"), "text"),
    )
    return [
        line((one_line(setting.path), "title")),
        *([verdict] if verdict is not None else []),
        Line(),
        *facts(*known, cells=_LABEL_CELLS),
        *(line(("· ", "accent"), (one_line(note), "text")) for note in setting.notes),
        *([Line(), line((one_line(setting.about), "text"))] if setting.about else []),
        Line(),
        _when(setting),
    ]


def _when(setting: "ListedSetting") -> Line:
    """From when on a change holds, or why there can be none."""
    if setting.waits:
        return line(
            ("↻ ", "accent"), ("Changed since the app started: restart it to use this.", "warn")
        )
    if setting.fixed:
        return line(("! ", "warn"), (f"Not changed here: {one_line(setting.fixed)}.", "muted"))
    if setting.source.startswith(PREFIX):
        return line(("! ", "warn"), ("The variable stands above what is changed here.", "muted"))
    when = "at once" if setting.at_once else "from the next start of the app on"
    return line(("↵", "accent"), (f" changes it; that holds {when}.", "muted"))


def settings_among(
    settings: Iterable["ListedSetting"], words: Sequence[str]
) -> "list[ListedSetting]":
    """The settings with all the words in name, value or source."""
    return [
        setting
        for setting in settings
        if all(
            word in f"{setting.path} {setting.value} {setting.source}".casefold() for word in words
        )
    ]


def verdict_line(problem: str) -> Line:
    """What is wrong with the value being written, or that it can be taken."""
    if problem:
        return line(("✗ ", "bad"), (one_line(problem), "warn"), hang=2)
    return line(("✓ ", "good"), ("↵ takes it", "muted"), hang=2)


def change_lines(changes: "Sequence[SettingChange]", now: datetime) -> list[Line]:
    """Who changed which setting and when, the latest first."""
    if not changes:
        return [line(("No setting was changed in the app yet.", "muted"))]
    return [
        line(("Changes, the latest first", "title")),
        Line(),
        *(_change_line(change, now) for change in changes),
    ]


def _change_line(change: "SettingChange", now: datetime) -> Line:
    before, after = one_line(change.before) or "–", one_line(change.after) or "–"
    return line(
        (f"{moment(change.at, now)}  ", "muted"),
        (one_line(change.path), "strong"),
        (f"  {before} → {after}", "accent"),
        ("" if change.done == "set" else f"  {change.done}", "warn"),
        (f"  {one_line(actor_words(change.by))}", "muted"),
        hang=2,
    )


def told(change: "SettingChange") -> str:
    """What was changed, and from when on it holds, for a toast."""
    value = change.after or "not set here any more"
    when = {
        "now": "holds now",
        "restart": "holds from the next start of the app on",
        "agreement": "waits for your yes",
    }.get(change.takes or "now", f"doesn't hold: {change.why}")
    return f"{change.path}: {value}; it {when}"
