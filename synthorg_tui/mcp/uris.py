"""URIs of the MCP resources: one for each skill, and one for the digest of each question."""

import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from synthorg_tui.core.errors import DomainError

SCHEME: Final = "synthorg"
SKILL_TEMPLATE: Final = f"{SCHEME}://skills/{{name}}"
DIGEST_TEMPLATE: Final = f"{SCHEME}://digest/{{query}}{{?token_budget}}"
BUDGET: Final = "token_budget"
MAX_BUDGET: Final = 100_000
MAX_NAME: Final = 64
MAX_URI: Final = 32_768
"""Longest URI, in characters: the longest query with every character escaped."""


class UnknownResourceError(DomainError):
    """The URI names nothing that is served here."""


class InvalidBudgetError(DomainError):
    """The token budget is no number in range."""


@dataclass(frozen=True, slots=True)
class SkillUri:
    """The parsed URI of a skill's text."""

    name: str


@dataclass(frozen=True, slots=True)
class DigestUri:
    """The parsed URI of a digest; ``token_budget`` ``None`` means the configured budget."""

    query: str
    token_budget: int | None


def skill_uri(name: str) -> str:
    """Return the URI of a skill; characters that URIs don't allow are percent-encoded."""
    return f"{SCHEME}://skills/{quote(name, safe='')}"


def is_plain_name(name: str) -> bool:
    """Return whether a skill's name is safe in a URI, a path and on a terminal.

    It must have 1 to ``MAX_NAME`` characters, no leading dot, no separators, no control characters.
    """
    return (
        0 < len(name) <= MAX_NAME
        and not name.startswith(".")
        and not any(letter in "/\\:%?#" for letter in name)
        and not any(unicodedata.category(letter).startswith("C") for letter in name)
    )


def parse_uri(uri: str) -> SkillUri | DigestUri:
    """Return the skill or digest that a URI names.

    Raises ``UnknownResourceError``, and ``InvalidBudgetError`` for a wrong token budget.
    """
    if len(uri) > MAX_URI:
        raise UnknownResourceError(f"a URI has at most {MAX_URI} characters")
    try:
        parts = urlsplit(uri)
        value = unquote(parts.path.removeprefix("/"), errors="strict")
    except ValueError as error:
        raise UnknownResourceError("that is no URI") from error
    whole = uri.startswith(f"{SCHEME}://{parts.netloc}/") and not parts.fragment
    if not whole or parts.path.count("/") != 1:
        raise _unknown()
    if parts.netloc == "skills" and not parts.query and is_plain_name(value):
        return SkillUri(value)
    if parts.netloc == "digest" and value.strip():
        return DigestUri(value, _budget_in(parts.query))
    raise _unknown()


def parse_budget(text: str) -> int:
    """Return the token budget that a decimal text names; raises ``InvalidBudgetError``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= MAX_BUDGET):
        raise InvalidBudgetError(f"{BUDGET} must be a whole number from 0 to {MAX_BUDGET}")
    return int(text)


def _budget_in(query: str) -> int | None:
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise _unknown() from error
    if not given:
        return None
    if [name for name, _ in given] != [BUDGET]:
        raise _unknown()
    return parse_budget(given[0][1])


def _unknown() -> UnknownResourceError:
    return UnknownResourceError(
        "there is no such resource", remedy=f"There are {SKILL_TEMPLATE} and {DIGEST_TEMPLATE}."
    )
