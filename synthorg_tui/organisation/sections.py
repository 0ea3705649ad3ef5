"""What a heading or a sentence before a list says of what stands below it.

The same words are a rule in one place and a description in another; the nearest heading or lead-in
that says anything decides. Nothing here looks at the texts below.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from synthorg_tui.core.text import compiled

_RULES: Final = (
    r"style|conventions?|rules?|guidelines?|standards?|principles?|best practices?|requirements?"
    r"|constraints?|don'?ts?|do not|never|always|must|avoid|anti-?patterns?|polic(?:y|ies)"
    r"|pitfalls?|gotchas?|naming|formatting|preferences|boundaries|important|critical"
    r"|things (?:to|that)|expectations|tone|checklist|definition of done|code quality"
    r"|hygiene|dos and"
    r"|ask first|limits|restrictions|invariants|reminders|notes for agents|safety|etiquette"
)
_PROSE: Final = (
    r"architecture|overview|structure|layout|director(?:y|ies)|components?|(?:tech )?stack"
    r"|modules?|key files?|important files?|references?|resources|links|contents|glossary|features"
    r"|about|background|introduction|examples?|commands?|entry ?points?|data flow|data models?"
    r"|concepts?|terminology|environment variables|configuration|packages|dependencies"
    r"|how it works|further reading|related|(?:common|suggested|available|supported) \w+|mission"
    r"|what (?:this|is|it|the|we)|history|index|abstractions|see also|skills|faq|objects"
    r"|project map|internals|key (?:modules|classes|types|points|paths|concepts|components)"
    r"|files|where (?:things|to)|flow|hierarchy|lifecycle|summary|context|purpose|who|vocabulary"
    r"|templates?|sample|setup|installation|prerequisites|benefits|advantages|output"
    r"|usage|quick start|getting started"
    r"|options|parameters|fields"
)
_STEPS: Final = (
    r"(?:to|how|when|before|after|adding|creating|running|making|writing|updating|releasing|fixing"
    r"|debugging|implementing|reviewing|testing|working|submitting|starting|finishing|building"
    r"|deploying|publishing|changing|removing|setting|for (?:each|every|new))\b"
    r"|.*\b(?:steps?|workflow|process|procedure|how to|cycle|protocol|loop|release|in order"
    r"|as follows|in sequence|recipe|runbook|playbook|checklist|plan|tasks?)\b"
)
_REVERSED: Final = (
    r"(?:what )?(?:not to|never|don'?ts?|do not|avoid|ask|anti-?patterns?|forbidden|prohibited"
    r"|disallowed|not allowed|bad|wrong|mistakes|common mistakes|pitfalls|banned|must not"
    r"|should not|no\b|off[- ]limits|out of scope|things (?:to avoid|not to)|without asking"
    r"|need approval|requires? approval|only (?:if|when|with|after))\b"
    r"|.*\b(?:to avoid|not to do|don'?t|do not"
    r"|never|ask (?:first|before)|must not|should not|approval)\b"
)
_LABEL_SIGNS: Final = r"[^\w'\u2019\s/&-]+"


class Kind(Enum):
    """What a heading announces: rules, prose about something, or nothing that tells."""

    RULES = "rules"
    PROSE = "prose"
    OPEN = "open"


def kind_of(context: Sequence[str]) -> Kind:
    """Tell what stands below headings and a lead-in, given from the outermost to the nearest."""
    for name in reversed(context):
        label = _label(name)
        if compiled(rf"(?:{_RULES})\b").search(label):
            return Kind.RULES
        if is_condition(name) and name.endswith(":"):
            return Kind.PROSE if describes_only(name) else Kind.OPEN
        if compiled(rf"\b(?:{_PROSE})\b").search(label):
            return Kind.PROSE
    return Kind.OPEN


def describes_only(name: str) -> bool:
    """Tell whether even what reads like an instruction below a heading is a description."""
    return bool(
        compiled(
            r"\b(?:overview|features?|architecture|about|introduction|background|benefits|advantages"
            r"|summary|components?|modules?|structure|layout|flow|key files?|purpose)\b"
        ).search(_label(name))
    )


def announces_steps(name: str) -> bool:
    """Tell whether a heading or lead-in announces how something is done, step by step."""
    return compiled(_STEPS).match(_label(name)) is not None


def reverses(name: str) -> bool:
    """Tell whether what stands below says the opposite, or less, without this heading.

    "Use the production database" below "Never" is such a thing.
    """
    return compiled(_REVERSED).match(_label(name)) is not None


def is_strict_heading(name: str) -> bool:
    """Tell whether a heading allows no exception from what stands below it."""
    return bool(
        compiled(
            r"\b(?:never|non-negotiable|critical|hard (?:rules|limits|constraints)|mandatory|must"
            r"|do not|don'?ts?|forbidden|prohibited|golden rules|always)\b"
        ).search(_label(name))
    )


def is_condition(lead: str) -> bool:
    """Tell whether a lead-in says when or where the items below it hold."""
    return (
        compiled(
            r"(?!in (?:particular|short|fact|practice|summary|other words|addition|general)\b)"
            r"(?:when(?:ever)?|if|before|after|for|in|on|once|unless|while|during|to|by"
            r"|with|inside|outside)\b"
        ).match(_label(lead))
        is not None
    )


def is_example(name: str) -> bool:
    """Tell whether a short line only announces an example of what stands before it."""
    return (
        compiled(
            r"(?:(?:for )?examples?|e\.?g\.?|good|bad|correct|incorrect|wrong|right|do|don'?t"
            r"|instead|before|after|like this|not this|yes|no|preferred|usage|output|sample"
            r"|pattern)\b(?:\s+\S+){0,4}\s*$"
        ).match(_label(name))
        is not None
    )


def _label(name: str) -> str:
    plain = compiled(_LABEL_SIGNS).sub(" ", name.replace("\u2019", "'").replace("_", " ").lower())
    return " ".join(compiled(r"^\s*(?:\d+[. ]*)+").sub("", plain).split())
