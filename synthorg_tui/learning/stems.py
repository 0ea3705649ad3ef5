"""The words of a text by their beginnings, so that forms of a word count as that word.

No dictionary and no grammar: ``push``, ``pushed`` and ``pushing`` begin alike, and small words say
nothing by themselves. That is enough to see whether two texts speak of the same things, and too
little to see what they say of them.
"""

import re
from collections.abc import Iterable
from typing import Final

WORD: Final = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
SMALL_WORDS: Final = frozenset(
    """
    a an and are as at be because been being before but by can could did do does doing done for
    from had has have having how if in into is it its itself may might of on once or out over
    should so such than that the their them then there these they this those to until up used
    using run runs ran running was were what when where which while who will with would you your
    yet just also still
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""Words that tell nothing of what a text is about."""
_LENGTH: Final = 5
_ENDING = re.compile(r"(?:ing|ed|es|s)$")


def stem_of(word: str) -> str:
    """Return the beginning that forms of a word in lower case share."""
    bare = _ENDING.sub("", word) if len(word) > _LENGTH else word
    if len(bare) > 3 and bare[-1] == bare[-2] and bare != word:
        bare = bare[:-1]
    return bare[:_LENGTH].rstrip("e")


def telling_stems(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of words in lower case, in order, without the small ones."""
    return tuple(stem_of(word) for word in words if word not in SMALL_WORDS and len(word) > 1)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without numbers and signs."""
    return [word.casefold() for word in WORD.findall(text)]


def whole_word(stem: str, text: str) -> str:
    """Return the first word of a text that has this stem, or the stem where none has it."""
    return next((word for word in words_of(text) if stem_of(word) == stem), stem)
