"""What a message says, apart from chatter: its first sentence that is about something.

Titles are made of it. People type "ok, continue", paste logs, and send the same template to many
sessions; agents begin with "Perfect!" and end with a question. All patterns for that are here, and
each errs on the side of taking a message as empty: a title has other sources.
"""

from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.text import compiled

_HEAD: Final = 6_000
_LINES: Final = 80
_SHORT: Final = 16
"""A sentence shorter than this is given together with the next one."""
_ANNOUNCED: Final = 30
"""One that ends with a colon says what follows, unless it is longer than this."""
_LONG: Final = 400
_FENCE = r"(?s)```.*?(?:```|\Z)"
_INNER = (
    r"(?s)<(pr_description|issue_description|problem_statement|issue|task|user_query|question)>"
    r"\s*(?P<text>.+?)\s*(?:</\1>|\Z)"
)
_MARKS = r"^(?:[-*•>#]+\s+|\d{1,2}[.)]\s+|[-*•]\s*\[[ xX]\]\s*)+|[*_`]{2,}|`|<[^<>\s]{1,40}>"
_PASTED = (
    r"(?: {4}|\t)|.*[;{]\s*$|\s*(?:[!-~]+\s*$|[{}|$%@]|\[\{|\[\d|<[!?/a-zA-Z]|/\S+:\d|>>>|#!"
    r"|\+\+\+ |--- |@@|diff --git|at \S+ ?\(|Traceback|File \"|\d{4}-\d\d-\d\d[T ]\d"
    r"|\d\d:\d\d:\d\d|npm (?:ERR|error|WARN)|E\s{3}|error(?:\[\w+\])?:|\S+@[\w.-]+[:~]"
    r"|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b[\s:\]]|\S*(?:Error|Exception): "
    r"|Caveat:|This session is being continued|Base directory for this skill:|\[[^\]]*\]\s*$"
    r"|[~/]\S*(?: \([^)]*\))?\s*$)|.*(?:➜|\u276f|\s\$\s\S)"
)
"""Lines of logs, code, terminals and data, and what programs put into a message."""
_SAID_TO_ALL = (
    r"(?i)you(?:'re| are) (?:an?|the|now|working|in)\b|i(?:'ve| have) uploaded\b|consider the foll"
    r"|we(?:'re| are) (?:currently |now )?solving the following\b|act as\b|help (?:me )?implement"
    r" the nece|your (?:task|job|goal|role) is to (?:help|assist)\b"
    r"|please solve this issue|read-only task\b|this is a read-only\b|do not (?:edit|modify|write)"
)
_ALWAYS_LEAD = (
    r"ok(?:ay)?|alright|hey|please|pls|btw|thanks|thank you|yeah|yep|hmm+|(?:can|could|wou"
    r"ld|will) you|i(?:'d| would)? (?:want|need|like) you to|let'?s|your (?:task|job|goal) is to"
    r"|kindly|next up|(?:the )?(?:task|goal|objective|problem|request)(?=:)"
)
_COMMA_LEAD = (
    r"hello|hi|so|now|well|right|and|then|but|also|great|good|perfect|nice|cool|yes|no|nope|sure|wait|yo"
    r"|actually|excellent|awesome|done|fixed|first|finally|next|sorry|oh|ah|like|basically|again"
)
_LEAD = (
    rf"(?i)(?:(?:{_ALWAYS_LEAD})(?!\w|['./_-]\w)[\s,.:;!—-]*"
    rf"|(?:{_COMMA_LEAD})[,.:;!—]+(?:\s+|\Z))+"
)
_PROMPT = (
    r"(?i)\W{0,3}(?:you are (?:an?|the|now)\b|your (?:name|role|job) is\b|<[a-z][\w-]*[ >]"
    r"|#+ [^\n]{1,80}\n)|(?s:.{0,6000}?)(?:</[a-z][\w-]*>\s*(?:\n|\Z)|\*\*\w+:\*\* \[)"
)
"""How a prompt begins that a program or another agent composed, or what it is marked up with."""
_MOMENT = (
    r"(?i)(?:(?:is|are|was|were|did|do|does|have|has|can|could|should|shall) .{0,60}\b(?:ready|done"
    r"|finished|merge(?:d|able)?|closed?|push(?:ed)?|committed|clean|running|green|passing|passed|stuck"
    r"|up[- ]to[- ]date|left|pending|open|complete)\b.{0,20}|(?:push|merge|commit|close|rebase"
    r"|clean ?up|delete|remove|pull|fetch)\b.{0,45}"
    r"|(?:what'?s|what is|check)\b.{0,30}\bstatus\b.{0,30})"
)
"""Sentences about how things stand at the moment, and steps that leave nothing to know."""
_SENTENCE_END = r"(?<=\w[\w)\]\"'][.!?:])\s+|(?<=[\u3002\uff01\uff1f])"
_PATH = r"(?<![\w@.+~/:-])@?(?:~|\.{1,2})?(?:[\w@.+-]*/){2,}(?=[\w.+-])"
_WORD = r"[^\W_](?:[\w'\u2019.@-]*\w)?"
_IDENTIFIER = r"[#\w-]*\d[\w.-]*|[a-z]+-[a-z0-9]{3}(?:\.\d+)*|\w+_\w+"
_FILLER = (
    r"a|about|added|again|ahead|all|alright|also|am|amazing|an|and|another|any|anything|are|as"
    r"|at|available|away|awesome|awful|back|background|bad|bd|be|bead|beads|been|before|begin"
    r"|bug|but|by|can|can't|carry|check|clear|commit|commited|committed|compact|context"
    r"|continue|continued|cool|could|description|details|did|do|does|doing|don't|done|each"
    r"|else|epic|everything|excellent|execute|exit|file|finalize|finally|find|fine|finish"
    r"|finished|first|fix|fixed|for|from|get|give|go|goal|going|good|got|great|had|has|have"
    r"|hello|help|here|hey|hi|hmm|hold|horrible|how|i|i'm|if|implement|implementation"
    r"|implementing|in|input|instead|instructions|into|is|issue|issues|it|it's|its|just|k|keep"
    r"|kindly|leave|let|let's|lets|lgtm|like|list|look|looks|ls|make|many|maybe|me|merge|more"
    r"|moving|my|need|needed|needs|new|next|nice|no|nope|not|now|objective|of|off|ok|okay|on"
    r"|once|one|only|or|other|others|our|out|overview|pass|passing|perfect|please|pls|possible"
    r"|pr|problem|proceed|prompt|push|pushed|pwd|quit|ready|real|rebase|request|resume|retry"
    r"|right|run|same|see|session|set|shall|ship|should|show|skip|so|some|something|start"
    r"|started|starting|step|steps|still|stop|story|submit|subtask|subtasks|sure|tackle|take"
    r"|task|tasks|test|tests|thank|thanks|that|that's|the|their|them|then|there|there's|these"
    r"|they|thing|things|think|this|those|through|ticket|to|together|too|try|ugly|until|up|us"
    r"|use|very|wait|want|was|we|we're|well|were|what|what's|where|which|will|with|work"
    r"|working|works|would|wow|wrong|wip|misc|stuff|update|updates|y|yea|yeah|yep|yes|yet|yo|you|your"
)
"""Words of which alone no request is made that says something."""
_BLAND = (
    r"(?i)(?:(?:now|next|first|then|finally)\b,? )?(?:let me|i'll|i will|i need to|i(?:'m| am) "
    r"(?:going|now|about)|let's)\b|now (?:i|that|let|add|update)\b|based on\b"
    r"|here(?:'s| is| are)\b"
    r"|i(?:'ve| have)? (?:now )?(?:have|see|got|understand|can see|reviewed|read)\b"
    r"|you(?:'re| are) (?:right|welcome|absolutely)|(?:good|great|excellent|nice) \w+\b.{0,20}$"
    r"|sure|want me to\b|would you like\b|shall i\b|should i\b|let me know\b|feel free\b"
    r"|ready (?:for|to)"
    r"|that(?:'s| was| is) (?:just|a|the|right|correct)\b|(?:a )?summary(?: of .{0,40})?[.:]?$"
    r"|(?:\S+ ){0,3}(?:summary|analysis|overview|report|findings|plan|changes|details)$"
    r"|(?:all )?(?:done|green|good|set|pushed|committed|clean|complete)\b.{0,24}$|.*[:?]$|.*\?$"
    r"|the (?:task|work) is (?:done|complete)|(?:(?:i am|i'm|still) )?(?:spawning|searching|running"
    r"|listing|checking|looking|reading|compiling|starting|continuing|working|waiting|testing)\b"
)
_HEADING = (
    r"(?i)^.{0,50}\b(?:summary|report|analysis|overview|findings|results?|review)\s*:\s*(?=\S)"
)


def request_of(text: str) -> str:
    """Return the first sentence of a request that says what is wanted; empty when none does.

    What was pasted, templates and chatter are passed over, paths are cut to the file's name.
    """
    inner = compiled(_INNER).search(text[:_HEAD])
    for sentence in _sentences(inner["text"] if inner else text):
        if not is_trivial(sentence) and not compiled(_SAID_TO_ALL).match(sentence):
            return sentence
    return ""


def conclusion_of(text: str) -> str:
    """Return the first sentence of an agent's last words that tells a result; empty when none."""
    for sentence in _sentences(text):
        told = compiled(_HEADING).sub("", sentence, count=1)
        if not compiled(_BLAND).match(told) and not is_trivial(told):
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
    words = compiled(_WORD).findall(compiled(r"(?<!\S)(?!\w+://)\S*/\S*").sub("1", bare))
    nothing = compiled(rf"{_FILLER}|{_IDENTIFIER}")
    return all(nothing.fullmatch(word) is not None for word in words)


def is_of_the_moment(text: str) -> bool:
    """Tell whether a request asks how things stand, or for a step that leaves nothing to know."""
    sentences = list(_sentences(text))
    is_short = len(text) <= 2 * _LONG // 5
    return is_short and any(compiled(_MOMENT).fullmatch(each.strip(" .?!")) for each in sentences)


def is_pasted(line: str) -> bool:
    """Tell whether a line is of a log, code, a terminal or data, and not a person's own words."""
    return compiled(_PASTED).match(line) is not None


def is_prompt(text: str) -> bool:
    """Tell whether a message was composed by a program or for another agent: nobody's own words."""
    return compiled(_PROMPT).match(text) is not None


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message without marks and lead-in, its pasted parts left out."""
    prose = compiled(_FENCE).sub("\n", text[:_HEAD])
    for line in prose.splitlines()[:_LINES]:
        if is_pasted(line):
            continue
        parts = [
            shown
            for part in compiled(_SENTENCE_END).split(_plain(line))
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
    lead = compiled(_LEAD).match(text)
    return text[lead.end() :].strip() if lead else text


def _plain(line: str) -> str:
    return compiled(_PATH).sub("", compiled(_MARKS).sub("", line.strip())).strip()
