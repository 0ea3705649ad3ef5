"""What of a query is worth embedding."""

import re

from synthorg_tui.memory.sparse import STOP_WORDS

_TOKENS = re.compile("\\w+(?:['\u2019]\\w+)?|\\W+")
_SENTENCE_ENDS = frozenset(".!?:\n")


def meaning_of(query: str) -> str:
    """The query without proper names, to be embedded; names are for the keyword search.

    A name in a short query outweighs everything else in its vector: it finds what mentions the
    name, whatever it is about. Keyword search knows how rare the name is and does it better.
    A name is a capitalised word that doesn't begin a sentence. When nothing but names and
    function words would be left, the query stays as it is.
    """
    kept: list[str] = []
    has_content = False
    at_start = True
    for token in _TOKENS.findall(query):
        if not token[0].isalnum():
            at_start = at_start or not _SENTENCE_ENDS.isdisjoint(token)
            kept.append(token)
            continue
        word = re.split("['\u2019]", token, maxsplit=1)[0]
        is_function_word = word.casefold() in STOP_WORDS
        is_name = not at_start and not is_function_word and _is_capitalised(word)
        at_start = False
        if not is_name:
            kept.append(token)
            has_content = has_content or not is_function_word
    return " ".join("".join(kept).split()) if has_content else query


def _is_capitalised(word: str) -> bool:
    return word.isalpha() and word[0].isupper() and word[1:].islower()
