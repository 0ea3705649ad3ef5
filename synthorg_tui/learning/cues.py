"""The words that a person's wishes about how to work are known by, as patterns.

They are ordered: the first that matches says what a sentence is. Each would rather pass a wish over
than take a question, a fact or a task for one. What becomes of a match is for ``reactions``.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that a wish is known by.

    ``pattern`` has a group ``rule``, the wish itself. ``lead`` is put before it, ``standing`` says
    that the words alone make it a rule, ``quoted`` that they make no instruction.
    """

    pattern: re.Pattern[str]
    standing: bool = False
    negative: bool = False
    lead: str = ""
    quoted: bool = False


def _cue(pattern: str, **marks: bool | str) -> Cue:
    return Cue(re.compile(pattern, re.IGNORECASE), **marks)  # type: ignore[arg-type]


FENCE = re.compile(r"(?s)```.*?(?:```|\Z)")
END = re.compile(r"(?<=[\w)\]\"'`][.!?…])\s+|(?<=\.\.[.])\s+|\n+|(?<=[\u3002\uff01\uff1f])")
LEAD = re.compile(
    r"(?:[-*•]\s+|\d{1,2}[.)]\s+|(?:ok(?:ay)?|alright|please|pls|also|and|but|so|hey|no|nope|btw"
    r"|oh"
    r"|by the way|well|hmm+|yes|yeah|yep|great|good|thanks|thank you|wait|just|bitte|(?:can|could"
    r"|would|will) you(?: please)?(?= (?:always|never|only|stop|not)\b))\b[\s,.:!—-]*)+",
    re.IGNORECASE,
)
_CLAUSE = r"(?:^|[,;:.—–]\s*(?:and |but |so |please )?|\b(?:please|i said|said:?)\s+)"
_YOU = (
    r"(?:^|\b(?:you|we|agents?)\s+(?:should|must|need to|have to|are to|shall|ought to|can)\s+"
    r"|\bi(?:'d| would)? (?:want|like|need|expect) you to\s+"
    rf"|{_CLAUSE})"
)
_VERB = (
    r"(?!\w+(?:[^s']s|[^e]ed|ing)\b)(?!mind\b|again\b|the\b|an?\b|be\b|been\b|have\b|had\b"
    r"|seen\b|heard\b|saw\b|got\b|gone\b|went\b|came\b|knew\b|known\b|thought\b|found\b|made\b"
    r"|was\b|were\b)[a-z]"
)
PRACTICE = {
    "read": "read",
    "run": "run",
    "ran": "run",
    "test": "test",
    "tested": "test",
    "commit": "commit",
    "commited": "commit",
    "committed": "commit",
    "push": "push",
    "pushed": "push",
    "check": "check",
    "checked": "check",
    "verify": "verify",
    "verified": "verify",
    "ask": "ask",
    "asked": "ask",
    "format": "format",
    "formatted": "format",
    "lint": "lint",
    "linted": "lint",
    "document": "document",
    "documented": "document",
    "follow": "follow",
    "followed": "follow",
    "wait": "wait",
    "waited": "wait",
    "confirm": "confirm",
    "confirmed": "confirm",
    "pull": "pull",
    "pulled": "pull",
    "rebase": "rebase",
    "rebased": "rebase",
    "update": "update",
    "updated": "update",
    "add": "add",
    "added": "add",
    "use": "use",
    "used": "use",
    "write": "write",
    "written": "write",
}
"""Verbs of work habits, as said of what wasn't done, each with its plain form."""
NOT_DONE = (
    r"\byou (?:still |again |just |clearly |obviously |once more )?(?:ha[a-z]{1,4}'?t|have not"
    r"|did(?:n'?t| not)|never|forgot to|keep forgetting to|forgot|failed to|skipped)\s+"
    r"(?:(?:actually|really|even|yet|fully|bother(?:ed)? to)\s+)*"
)
_CROSS = r"\b(?:idiot|stupid|dumb|moron|wtf|ffs|the hell|the fuck|jesus)\b|(?:\.\.\.|…|!)\s*$"
CUES: tuple[Cue, ...] = (
    _cue(
        r"(?P<rule>\b(?:from now on|going forward|in (?:the )?future(?!,? (?:we|it|this"
        r"|there)\b)|for future reference|ab jetzt"
        r"|von jetzt an|künftig|à partir de maintenant|désormais|a partir de ahora"
        r"|de ahora en adelante)\b.+|^.{8,}\b(?:from now on|going forward|ab jetzt"
        r"|désormais)\W*$)",
        standing=True,
    ),
    _cue(
        _YOU + rf"(?P<rule>(?:never|do(?:n't| not) ever)\s+{_VERB}.+)",
        standing=True,
        negative=True,
    ),
    _cue(_YOU + rf"(?P<rule>always\s+{_VERB}.+)", standing=True),
    _cue(
        r"\bi(?:'d| would| do| will)? only (?:want|like|accept|allow)\s+"
        r"(?!to\b|an?\b|\d|one\b|two\b|the\b|this\b|that\b|it\b)(?P<rule>\w.+)",
        standing=True,
        lead="Only ",
    ),
    _cue(
        r"\bwe (?P<rule>only (?:use|accept|allow|commit|write)\s+(?!it\b|this\b).+)", standing=True
    ),
    _cue(_YOU + r"(?P<rule>only (?:ever )?(?:use|edit|commit|write|touch|modify|push|create)\b.+)"),
    _cue(
        r"^(?:remember|keep in mind|bear in mind|don'?t forget|do not forget)"
        r"(?:\s*[:,]|\s+(?:that|to))\s+(?P<rule>\w.+)"
    ),
    _cue(
        r"\bi(?:'ve| have)? (?:already |just |explicitly )?(?:told|asked) you (?:not|never) to"
        r"\s+(?P<rule>\w.+)",
        negative=True,
        lead="Don't ",
    ),
    _cue(
        r"\bi(?:'ve| have)? (?:already |just |explicitly )?(?:told|asked) you to\s+"
        r"(?P<rule>\w.+)"
    ),
    _cue(
        NOT_DONE + rf"(?P<rule>(?:{'|'.join(PRACTICE)})\b.*)",
    ),
    _cue(
        r"^(?:as |like )?i (?:already |just )?said(?: that)?[,: ]+(?:to )?(?P<rule>(?!no\b|not\b"
        r"|do"
        r"(?:n't| not)\b|(?:you|we) )\w.+)"
    ),
    _cue(
        r"\byou (?:really |still |first )?(?:need|have|ought) to (?:always |really |first )?"
        r"(?P<rule>(?:read|run|test|commit|push|check|verify|ask|format|lint)\b.+)"
    ),
    _cue(
        r"\byou (?:should(?:n't| not)|must(?:n't| not)) (?!need|have|be\b)(?P<rule>\w.+)",
        negative=True,
        lead="Don't ",
    ),
    _cue(r"\bi (?:don'?t|do not) want you to (?P<rule>\w.+)", negative=True, lead="Don't "),
    _cue(
        r"^we (?P<rule>(?:don'?t|do not|never) (?:use|do|write|commit|mock|allow|add|merge"
        r"|push)\b.+)",
        negative=True,
    ),
    _cue(r"^make sure (?:to|that you|you) (?:always )?(?P<rule>\w.+)"),
    _cue(
        _CLAUSE + r"(?P<rule>(?:don'?t|do not|dont)\s+(?!worry|know|think|see|understand|care|mind"
        r"|bother|hesitate|have|want|believe|get|like|need|remember|forget|we\b|you\b|they\b|i\b)"
        r"\w.+|(?:stop|quit|avoid)\s+(?!(?:work|respond|load|be|happen|show"
        r"|appear)ing\b)\w+ing\b.+)",
        negative=True,
    ),
    _cue(
        r"(?P<rule>\bi (?:did ?n'?t|did not|never) (?:ask(?:ed)?|tell|told) (?:you )?"
        r"(?:for|to)\s+\w.+)",
        negative=True,
        quoted=True,
    ),
    _cue(
        r"^why (?:do|are|would) you (?:keep|still)\s+(?P<rule>\w+ing\b.+)",
        negative=True,
        lead="Stop ",
    ),
    _cue(
        rf"^why do you (?:always )?(?=.*(?:{_CROSS}))(?!think|believe|say|suggest|ask|want|need"
        r"|mean)(?P<rule>\w.+)",
        negative=True,
        lead="Don't ",
    ),
    _cue(
        r"(?:^|\bi said |\byou should |\bwe |^i )(?P<rule>(?:use\s+\S.{0,120}?[\s,]"
        r"(?:instead of|rather than|and not|not)|prefer\s+\S.{0,120}?\s(?:over|to))\s+\S.*)"
    ),
    _cue(
        r"^(?:actually,?\s+)?(?P<rule>(?:i actually (?:want|meant|wanted)|i meant|what i (?:want"
        r"|meant))\b.+)",
        quoted=True,
    ),
    _cue(
        r"^(?P<rule>(?:hör auf|du hast (?:vergessen|schon wieder)|(?:verwende|benutze|nutze"
        r"|nimm)\b"
        r".*\b(?:immer|nie(?:mals)?|statt|nicht)\b|(?:immer|nie(?:mals)?|nur) (?:mit|ohne|über)\b"
        r"|deja de|(?:te )?olvidaste|no (?:uses|hagas)\b|(?:siempre|nunca) (?:usa|ejecuta|haz)\b"
        r"|(?:usa|utiliza|ejecuta)\b.*\b(?:siempre|nunca|en vez de|en lugar de)\b|arrête de"
        r"|tu as oublié|n'utilise(?:z)? (?:pas|jamais)|utilise(?:z)?\b.*\b(?:toujours|jamais"
        r"|au lieu de|plutôt que)\b)\b.+)",
        quoted=True,
    ),
)
QUESTION = re.compile(
    r".*\?\W*$|(?:what|where|when|who|which|how|is|are|was|does|do (?:you|we|i|they)|did|has"
    r"|have (?:you|we)|can|could|would|should|shall|will|isn't|aren't|won't)\b",
    re.IGNORECASE | re.DOTALL,
)
MOMENT = re.compile(
    r"\b(?:this(?! (?:repo|repository|project|codebase|package|workspace)\b)|that|it|its"
    r"|these|those|them|here|there|now(?! on\b)|yet|today|currently|so far|he|she|above|below"
    r"|again|until|line \d+|(?:step|option|phase|part|item|point|number) \w)\b",
    re.IGNORECASE,
)
LIMIT = re.compile(r"\b(?:anything|any (?:code|files?|changes?)|just|for me)\b", re.IGNORECASE)
"""Words that limit one task: don't change anything, just look."""
OF_PRODUCT = re.compile(
    r"(?:always|never|only) (?:show|display|render|return|hide|redirect|highlight|appear)\b",
    re.IGNORECASE,
)
"""What a program shall always do is a request for it, not a way of working."""
FACT = re.compile(
    r"(?:\A(?:from now on|going forward|in (?:the )?future|for future reference)[\s,:]+)?"
    r"(?!.*\b(?:must|should|shall|needs?|ha(?:ve|s) to|always|never|only|not|don't|to be)\b)"
    r"(?:(?:the|our|my|your|this|that|it|there|an?)\b(?:\s+[\w-]+){0,3}?\s+|[\w.-]+\s+)"
    r"(?:is|are|was|were|has|have|had|runs?|lives?|listens?|works?|comes?|goes|gets|contains?"
    r"|supports?|means|uses|takes|will)\b",
    re.IGNORECASE,
)
"""What says how something is from now on, not how to work."""
SHOWING = re.compile(r"here(?:'?s| is| are| you go| we go)\b", re.IGNORECASE)
INSTEAD = re.compile(
    r"(?:no|not|nope|don'?t|do not|never|nothing|only|instead|rather|first|let'?s|use|run|try|do"
    r"|make|keep|put|write|read|add|remove|check|ask|stop|wait|leave|skip|prefer|go|start|edit"
    r"|change|look|you (?:should|must|need|can|have)|we (?:should|must|need|don'?t|never|always"
    r"|use)|i (?:want|prefer|said|asked|told|meant|would|'d|don'?t))\b",
    re.IGNORECASE,
)
"""How a turn begins that says what to do in place of a refused call."""
UNDO = re.compile(
    r"(?:(?:(?:can|could|would) (?:you|we)|please|actually|let's|we should|you should|just|now"
    r"|i want you to)[\s,]+)*(?:revert|undo|roll\s?back|take back|put (?:it|that|them) back"
    r"|deshaz|annule)"
    r"(?:\s|$)|mach (?:das|es|alles)\b.*\brückgängig\b",
    re.IGNORECASE,
)
CONDITION = re.compile(r"\b(?:if|when|while|once|after|until|as long as)\b", re.IGNORECASE)
DEFINITE = re.compile(
    r"\b(?:the|my|our|your)\s+(?!(?:whole |full |entire |relevant |existing |project'?s? |unit "
    r"|e2e |integration |type )*(?:tests?|docs?|documentation|changelog|readme|linters?|formatter"
    r"|types?|build|test suite|suite|code|codebase|checks?|ci|specs?|rules?|guidelines?"
    r"|conventions?|instructions?|style|user|files?|repo(?:sitory)?|logs?|source|same|time|way"
    r"|main branch|comments?)\b)",
    re.IGNORECASE,
)
FILE = re.compile(
    r"@?(?:[\w.+-]*/)+([\w.+-]+)/?|(?<![\w/.])@?([\w+-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,4})\b"
)
IDENTIFIER = re.compile(r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|\w+_\w+|\w+\(\))")
WHOLE = re.compile(
    r"\b(?:in full|entirely|completely|the (?:whole|entire|full) file)\b", re.IGNORECASE
)
WORD = re.compile(r"[^\W_](?:[\w'-]*\w)?")
INSULT = re.compile(
    r"[\s,]*\byou (?:\w+ )?(?:idiot|moron|fool|dummy|clown)\b|,\s*(?:idiot|moron)\b|\b(?:wtf"
    r"|ffs)\b",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\s*(?:[;:—–(]|,\s*(?:it|that|this|which|anything|everything|the rest|nothing else|because"
    r"|since|i|we|as|ok(?:ay)?|please|thanks)\b"
    r"|\b(?:because|since|i suppose|i guess|i think)\b).*$",
    re.IGNORECASE,
)
WANTS = re.compile(r"(?:what )?i (?:actually )?(?:want|meant)", re.IGNORECASE)
STOP = re.compile(
    r"a|about|actually|again|all|already|also|always|am|an|and|any|anything|are|as|asked|at|avoid"
    r"|be|because|been|before|bother|but|by|can|could|did|didn't|do|does|doing|don|don't|dont"
    r"|each|else|ever|every|everything|for|forget|forgot|forward|from|full|future|going|had|has"
    r"|have|haven't|here|how|i|i'd|if|in|instead|into|is|it|it's|its|just|keep|let|like|make|me"
    r"|mind|more|must|my|need|never|next|no|not|note|now|of|on|only|or|other|our|out|over|please"
    r"|prefer|quit|rather|remember|said|shall|should|so|some|something|still|stop|such|than|that"
    r"|that's|the|their|them|then|there|these|they|thing|this|those|time|to|told|too|until|up|us"
    r"|very|want|was|way|we|were|what|when|where|which|while|why|will|with|without|would|yet|you"
    r"|your"
)
WHETHER = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|hey|alright|wait)[\s,]+)*(?:did you|have you|are (?:we|you|they)"
    r"|is (?:it|everything|that|all))\s+(?:all |already |actually |also |even |really )*"
    r"(?P<verb>commit(?:t?ed)?|push(?:ed)?|test(?:ed)?|run(?= the tests?| tests?)|format(?:ted)?"
    r"|lint(?:ed)?)\b",
    re.IGNORECASE,
)
