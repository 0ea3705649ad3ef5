"""The two themes of the program, and the colours of the style roles in any theme."""

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

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

# Role -> theme variable, how strongly it stands out from the background, bold.
_ROLES: Mapping[str, tuple[str, float, bool]] = {
    "text": ("foreground", 1.0, False),
    "muted": ("foreground", 0.66, False),
    "faint": ("foreground", 0.45, False),
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
    "cat-working": ("foreground", 0.66, False),
    "cat-episodic": ("primary", 1.0, False),
    "cat-semantic": ("secondary", 1.0, False),
    "cat-procedural": ("success", 1.0, False),
    "cat-social": ("warning", 1.0, False),
}
_MARKED = {"found": Style(underline=True), "here": Style(reverse=True)}
"""What a match of a search in a text has beside its colour, so that it shows without one."""


def role_styles(variables: Mapping[str, str], background: Color) -> dict[str, Style]:
    """Return the style of each role on a background, from the CSS variables of the theme in use."""
    return {
        role: Style(color=_colour(variables[name], strength, background).rich_color, bold=bold)
        + _MARKED.get(role, Style.null())
        for role, (name, strength, bold) in _ROLES.items()
    }


def _colour(value: str, strength: float, background: Color) -> Color:
    colour = Color.parse(value)
    if colour.ansi is not None or background.ansi is not None:
        return colour
    return background.blend(colour, strength) if strength < 1 else colour
