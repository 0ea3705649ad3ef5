"""The two themes of the program, the colours of the style roles in any theme, and style rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.style import Style
from textual.cache import LRUCache
from textual.color import BLACK, WHITE, Color
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.theme import Theme

if TYPE_CHECKING:
    from synthorg_tui.settings.theme_files import ThemeFile

DARK = "desk-dark"
LIGHT = "desk-light"

THEMES = (
    Theme(
        name=DARK,
        primary="#7aa2f7",
        secondary="#bb9af7",
        accent="#7dcfff",
        success="#9ece6a",
        warning="#e0af68",
        error="#f7768e",
        foreground="#c8d0e8",
        background="#14161f",
        surface="#191c28",
        panel="#222637",
        dark=True,
        variables={
            "border": "#343a52",
            "border-blurred": "#343a52",
            "scrollbar": "#343a52",
            "scrollbar-hover": "#4b5375",
            "scrollbar-active": "#7aa2f7",
            "scrollbar-background": "#14161f",
            "scrollbar-background-hover": "#14161f",
            "scrollbar-background-active": "#14161f",
            "scrollbar-corner-color": "#14161f",
            "input-selection-background": "#7aa2f7 35%",
        },
    ),
    Theme(
        name=LIGHT,
        primary="#2e5fd0",
        secondary="#8a3fc0",
        accent="#0f7b9c",
        success="#4c7a1f",
        warning="#9a6200",
        error="#c0264b",
        foreground="#2a2e3d",
        background="#f7f7fa",
        surface="#efeff4",
        panel="#e4e5ee",
        dark=False,
        variables={
            "border": "#c4c7d8",
            "border-blurred": "#c4c7d8",
            "scrollbar": "#c4c7d8",
            "scrollbar-hover": "#a6abc4",
            "scrollbar-active": "#2e5fd0",
            "scrollbar-background": "#f7f7fa",
            "scrollbar-background-hover": "#f7f7fa",
            "scrollbar-background-active": "#f7f7fa",
            "scrollbar-corner-color": "#f7f7fa",
        },
    ),
)


def theme_of(file: "ThemeFile") -> Theme:
    """Return the theme that a person wrote; colours that are left out follow from the others."""
    return Theme(name=file.name, dark=file.dark, **file.colours)  # type: ignore[arg-type]


# Role -> theme variable, how strongly it stands out from the background, bold.
_ROLES: Mapping[str, tuple[str, float, bool]] = {
    "text": ("foreground", 1.0, False),
    "muted": ("foreground", 0.75, False),
    "faint": ("foreground", 0.6, False),
    "strong": ("foreground", 1.0, True),
    "title": ("primary", 1.0, True),
    "accent": ("accent", 1.0, False),
    "good": ("success", 1.0, False),
    "warn": ("warning", 1.0, False),
    "bad": ("error", 1.0, False),
    "match": ("warning", 1.0, False),
    "found": ("warning", 1.0, True),
    "here": ("warning", 1.0, True),
    "track": ("foreground", 0.18, False),
    "cat-working": ("foreground", 0.75, False),
    "cat-episodic": ("primary", 1.0, False),
    "cat-semantic": ("secondary", 1.0, False),
    "cat-procedural": ("success", 1.0, False),
    "cat-social": ("warning", 1.0, False),
}
_MARKED = {"found": Style(underline=True), "here": Style(reverse=True)}
"""What a match of a search in a text has beside its colour, so that it shows without one."""


MIN_CONTRAST = 4.5
"""Least contrast of a text to what is behind it, as WCAG 2 asks of ordinary text (AA)."""
_STEPS = 20


def role_styles(variables: Mapping[str, str], background: Color) -> dict[str, Style]:
    """Return the style of each role on a background, from the CSS variables of the theme in use.

    Any theme and any row is readable: a colour too near to the background is moved towards the
    theme's foreground. Only ``track`` isn't, which draws lines and no text.
    """
    return {
        role: Style(color=_colour(variables, role, background).rich_color, bold=bold)
        + _MARKED.get(role, Style.null())
        for role, (_, _, bold) in _ROLES.items()
    }


_MAX_SOURCES = 256
_Parsed: TypeAlias = LRUCache[tuple[object, ...], list[RuleSet]]


class ParsedStyles(Stylesheet):
    """Style rules that are parsed once for each theme; Textual does it three times at a start."""

    _PARSED: ClassVar[LRUCache[frozenset[tuple[str, str]], _Parsed]] = LRUCache(4)
    """Rules by the variables of a theme: a process has one app, and few of them."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = self._parsed(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set the variables of a theme; what was parsed for it before is used again."""
        if variables != self._variables:
            self._parse_cache = LRUCache(1)  # which ``Stylesheet`` clears
            super().set_variables(variables)
            self._parse_cache = self._parsed(variables)

    def reparse(self) -> None:
        """Parse what hasn't been for these variables; after an error the rules stay as they are."""
        self.parse()

    def _parsed(self, variables: dict[str, str]) -> _Parsed:
        key = frozenset(variables.items())
        if key not in self._PARSED:
            self._PARSED[key] = LRUCache(_MAX_SOURCES)
        return self._PARSED[key]


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    shares = (part / 255 for part in (colour.r, colour.g, colour.b))
    linear = [
        share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _colour(variables: Mapping[str, str], role: str, background: Color) -> Color:
    name, strength, _ = _ROLES[role]
    colour, foreground = Color.parse(variables[name]), Color.parse(variables["foreground"])
    if colour.ansi is not None or background.ansi is not None:
        return colour
    blended = background.blend(colour, strength) if strength < 1 else colour
    if role == "track" or foreground.ansi is not None:
        return blended
    for step in range(_STEPS + 1):
        moved = blended.blend(foreground, step / _STEPS)
        if contrast(moved, background) >= MIN_CONTRAST:
            return moved
    return max((WHITE, BLACK), key=lambda edge: contrast(edge, background))
