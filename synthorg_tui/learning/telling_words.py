"""The words of a text that tell something: their beginnings, and those that are more than English.

No dictionary and no grammar: ``push``, ``pushed`` and ``pushing`` begin alike, small words say
nothing by themselves, and names, numbers, flags and paths show what they are by their form. That is
enough to see whether two texts speak of the same things, and too little to see what they say of
them.
"""

import re
from collections.abc import Iterable, Iterator
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
EDGES: Final = ".,;:!?()[]{}\"'“”‘’…—–"  # noqa: RUF001
_OPENING: Final = "([{\"'“‘—–"  # noqa: RUF001
SYMBOL: Final = re.compile(r"[/\\=@{}<>$~*_#|&^%+]|\d|\w[.:]\w|[a-z][A-Z]")
FLAG: Final = re.compile(r"--?[A-Za-z][\w-]*")
_SENTENCE_END: Final = (".", "!", "?", ":")
_NUMBERS: Final = frozenset(
    """
    two three four five six seven eight nine ten twelve twenty hundred thousand twice
    """.split()  # noqa: SIM905
)
_TOOLS: Final = frozenset(
    """
    ansible apk apt aws azure bash bazel black brew bun bundle bundler cargo cmake composer conda
    curl cypress deno django docker dotnet elixir eslint flask gcc gem git github gitlab go golang
    gradle gulp helm heroku homebrew java javascript jest just kubectl kubernetes linux macos make
    maven mix mvn mypy mysql nginx node nodejs npm npx nvm php pip pipenv pnpm podman poetry
    postgres postgresql powershell prettier psql pytest python rake react redis ruby ruff rust rustc
    ssh sqlite sudo svn systemctl terraform tox tsc typescript ubuntu uv venv vercel virtualenv
    vite vitest webpack wget windows yarn zsh main master origin upstream head root localhost
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""Names that look like words. Others show what they are by their form."""
PLAIN_VERB: Final = re.compile(
    r"(?<=\bto )(?:make|go)\b|\b[Mm]ake(?= (?:the|an?|it|them|this|sure|every)\b)"
)
"""Where two of them are plain English; after a lower-case ``to`` and before a thing."""
_WEIGHTY: Final = frozenset(
    """
    always never every only all any must delete deletes remove removes erase force forces reset
    resets disable disables bypass overwrite overwrites uninstall destroy kill rename downgrade
    upgrade reinstall revert password token secret deprecated corrupt corrupted malicious insecure
    permission permissions admin administrator network timeout another different still
    """.split()  # noqa: SIM905
)
"""Words that claim or ask much: a rule without exception, a loss, a cause of its own kind, or that
there was more than one thing, or more than one try."""
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


def special_words(prose: str) -> Iterator[str]:
    """Yield the words of a text that are more than English: names, numbers, flags, paths."""
    starts = True
    for raw in prose.split():
        word = raw.lstrip(_OPENING).rstrip(EDGES)
        if word.strip("`'") and _is_special(word, starts=starts):
            yield word
        starts = raw.endswith(_SENTENCE_END) or (starts and not word)


def _is_special(word: str, *, starts: bool) -> bool:
    plain = word.casefold()
    if SYMBOL.search(word) or FLAG.fullmatch(word):
        return True
    if plain in _TOOLS or plain in _NUMBERS or is_weighty(plain):
        return True
    if "-" in word:
        return any(len(part) > 1 for part in word.split("-")) and not _is_compound(word)
    capital = word[:1].isupper() and not starts and word not in {"I", "I'm"}
    return capital or (len(word) > 1 and word.isupper())


def is_weighty(word: str) -> bool:
    """Tell whether a word in lower case claims so much that it has to stand in the evidence."""
    return word.isalpha() and stem_of(word) in {stem_of(known) for known in _WEIGHTY}


def _is_compound(word: str) -> bool:
    """Whether a word with hyphens is plain English, such as ``re-run`` or ``up-to-date``."""
    first, *others = word.casefold().split("-")
    return first in {"re", "non", "pre", "un", "up", "well", "newly", "so", "read"} and all(
        part.isalpha() and part not in _TOOLS and part not in _WEIGHTY for part in others
    )
