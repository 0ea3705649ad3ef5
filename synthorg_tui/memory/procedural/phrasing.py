"""The sentences that promoted lessons are made of; what they have in common says nothing."""

import re
from string import Formatter
from typing import Final

FAILED_CONDITION: Final = "When {situation} fails with: {error}"
REMEDY_ACTION: Final = "Do this instead: {remedy}"
NO_REMEDY_ACTION: Final = "Stop trying {situation} and ask a person"
WORKED_CONDITION: Final = "When a task takes {steps}"
WORKED_ACTION: Final = "Go in this order: {steps}"

_COMPARED: Final = (
    FAILED_CONDITION,
    REMEDY_ACTION,
    NO_REMEDY_ACTION,
    WORKED_CONDITION,
    WORKED_ACTION,
)


def words_of(templates: tuple[str, ...]) -> frozenset[str]:
    """The lower-case words of templates outside their fields."""
    literals = (literal for each in templates for literal, *_ in Formatter().parse(each))
    return frozenset(word for text in literals for word in re.findall(r"\w+", text.casefold()))


TEMPLATE_WORDS: Final = words_of(_COMPARED)
"""Words that conditions and actions share only because code wrote them."""
