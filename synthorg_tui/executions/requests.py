"""What a message says, apart from chatter: its first sentence that is about something.

Titles are made of it. People type "ok, continue", paste logs, and send the same template to many
sessions; agents begin with "Perfect!" and end with a question. All patterns for that are here, and
each errs on the side of taking a message as empty: a title has other sources.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from synthorg_tui.core.patterns import Patterns
from synthorg_tui.core.text import compiled

_HEAD: Final = 6_000
_LINES: Final = 80
_SHORT: Final = 16
"""A sentence shorter than this is given together with the next one."""
_ANNOUNCED: Final = 30
"""One that ends with a colon says what follows, unless it is longer than this."""
_LONG: Final = 400
_P: Final = Patterns(Path(__file__).with_name("requests.toml"), 0)
"""What is chatter, pasted or said to all; each errs on the side of taking a message as empty."""


def request_of(text: str) -> str:
    """Return the first sentence of a request that says what is wanted; empty when none does.

    What was pasted, templates and chatter are passed over, paths are cut to the file's name.
    """
    inner = _P["inner"].search(text[:_HEAD])
    for sentence in _sentences(inner["text"] if inner else text):
        if not is_trivial(sentence) and not _P["said_to_all"].match(sentence):
            return sentence
    return ""


def conclusion_of(text: str) -> str:
    """Return the first sentence of an agent's last words that tells a result; empty when none."""
    for sentence in _sentences(text):
        told = _P["heading"].sub("", sentence, count=1)
        if not _P["bland"].match(told) and not is_trivial(told):
            return told
    return ""


def is_trivial(text: str) -> bool:
    """Tell whether a text has nothing that a title could be made of.

    Such are "continue", "ok, go on", a bare slash command, an identifier, a pasted line of a log.
    """
    text = text.strip()[:_LONG]
    bare = _without_lead(text).lower()
    if is_pasted(text) or compiled(r"/[\w:.-]+|\S*/\S*").fullmatch(text):
        return True
    words = _P["word"].findall(compiled(r"(?<!\S)(?!\w+://)\S*/\S*").sub("1", bare))
    nothing = _P["nothing"]
    return all(nothing.fullmatch(word) is not None for word in words)


def is_of_the_moment(text: str) -> bool:
    """Tell whether a request asks how things stand, or for a step that leaves nothing to know."""
    sentences = list(_sentences(text))
    is_short = len(text) <= 2 * _LONG // 5
    return is_short and any(_P["moment"].fullmatch(each.strip(" .?!")) for each in sentences)


def is_pasted(line: str) -> bool:
    """Tell whether a line is of a log, code, a terminal or data, and not a person's own words."""
    return _P["pasted"].match(line) is not None


def is_prompt(text: str) -> bool:
    """Tell whether a message was composed by a program or for another agent: nobody's own words."""
    return _P["prompt"].match(text) is not None


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message without marks and lead-in, its pasted parts left out."""
    prose = _P["fence"].sub("\n", text[:_HEAD])
    for line in prose.splitlines()[:_LINES]:
        if is_pasted(line):
            continue
        parts = [
            shown
            for part in _P["sentence_end"].split(_plain(line))
            if (shown := _without_lead(part))
        ]
        for position, part in enumerate(parts):
            following = parts[position + 1] if position + 1 < len(parts) else ""
            if len(part) < _SHORT and following and part[-1] not in ":?":
                yield f"{part} {following}"
            elif part[-1] != ":" or len(part) > _ANNOUNCED:
                yield part


def _without_lead(text: str) -> str:
    text = text.strip()
    lead = _P["lead"].match(text)
    return text[lead.end() :].strip() if lead else text


def _plain(line: str) -> str:
    return _P["path"].sub("", _P["marks"].sub("", line.strip())).strip()
