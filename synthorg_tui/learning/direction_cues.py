"""The words by which a person's clause points to what is wanted, or away from it, as patterns.

All of them are matched on plain text in lower case, where negations are words of their own. Each
would rather leave a direction open than tell the wrong one.
"""

import re
from collections.abc import Mapping
from typing import Final

WANTED: Final = 1
UNWANTED: Final = -1
UNTOLD: Final = 0
"""Directions; their product is that of a negation of a negation."""
_AUXILIARY: Final = (
    "do|does|did|have|has|had|is|are|was|were|can|ca|could|will|wo|would|should|must|need|might"
)
PLAIN: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"[\u2018\u2019]", "'"),
        (r"[`*_\"\u201c\u201d]", " "),
        (r"\bhav\w{0,3}[n'][\w']?t\b", "have not"),
        (rf"\b({_AUXILIARY})n'?t\b", r"\1 not"),
        (r"\bcannot\b", "can not"),
        (r"\bain'?t\b", "is not"),
        (r"\b(i|you|we|they)'d\b", r"\1 would"),
        (r"\b(i|you|we|they)'ve\b", r"\1 have"),
        (r"\b(i|you|we|they)'ll\b", r"\1 will"),
        (r"\bi'm\b", "i am"),
        (r"\b(you|we|they)'re\b", r"\1 are"),
        (r"\b(it|that|there|this|he|she|who|what|where)'s\b", r"\1 is"),
        (r"\blet'?s\b", "let us"),
        (r"\bnot (?:only|just)\b", "also"),
        (r"\bnever,? ever,?(?= )", "never"),
        (r"\bwith (?:no|zero)\b", "without"),
        (r"\b(?:nothing|none|nobody) (?:but|except|other than)\b", "only"),
        (r"\banything (?:but|except|other than)\b", "avoid"),
        (r"\b((?:prefer\w*|use) (?:to )?(?!to\b)[^,.;:!?]+?) (?:over|to) ", r"\1 rather than "),
        (r",? (?=(?:such as|e\.g\.|for example|for instance|including|especially)\b)", " "),
    )
)
"""Spellings of the same, so that a negation is always a word of its own."""
NEGATION: Final = re.compile(
    r"not|never|no|none|neither|nor|nothing|nobody|cannot|without|hardly|barely|rarely|seldom"
    r"|avoid(?:s|ed|ing)?|stop(?:s|ped|ping)?|quit(?:ting)?|skip(?:s|ped|ping)?"
    r"|for(?:get|gets|got|gotten|getting)|ignor(?:e|es|ed|ing)|omit(?:s|ted|ting)?"
    r"|neglect(?:s|ed|ing)?|refrain(?:s|ed|ing)?|refus(?:e|es|ed|ing)"
    r"|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|dislik(?:e|es|ed|ing)"
    r"|forbid(?:s|den|ding)?|ban(?:s|ned|ning)?|disabl(?:e|es|ed|ing)"
    r"|missed|fewer|less|than|exclud(?:e|es|ed|ing)|rid|sick|tired"
)
NEGATIONS_OF_TWO: Final = re.compile(
    r"(?:leav(?:e|es|ing)|left) (?:out|off)|too (?:many|much)|fail(?:s|ed|ing)? to"
    r"|no longer|no more|no need"
)
GIVES_UP: Final = re.compile(r"stop(?:ped|ping)?|quit(?:ting)?|avoid(?:ed|ing)?")
"""Negations after which ``and`` with a plain verb begins what is to be done instead."""
UNSURE: Final = re.compile(
    r"\b(?:(?:leave|leaving|leaves)(?! out\b| off\b)|alone|untouched|unchanged|hands|limits|mind"
    r"|care|maybe|perhaps"
    r"|might|probably|sometimes|fine|ok|okay|allowed|allow|may|guess|except|either|whatever"
    r"|drop|kill|cut|missing|lack|lacks|lacking"
    r"|wonder(?:ing)?|curious|sure (?:if|whether)|nice|great|love|loved|thanks"
    r"|perfect|awesome|impressive|wow|lol|matter|as if|used to|out of|instead|ironic(?:ally)?"
    r"|(?:keep|stay|hold|back|turn|switch) (?:\w+ ){0,4}?(?:out|away|from|off|clear|back|down))\b"
)
"""Words by which a clause may mean either; ``instead of`` is parted from it before."""
BAD: Final = re.compile(
    r"\b(?:bad|shit|shitty|wrong|ugly|useless|horrible|terrible|awful|annoying|unacceptable"
    r"|pointless|overkill|noise|noisy|garbage|crap|crappy|nonsense|rubbish|worthless|stupid|dumb"
    r"|worst|worse|unwanted|unnecessary|superfluous|redundant|harmful|forbidden|banned|prohibited"
    r"|a mistake|a waste|off limits|problem|problematic|confusing|dangerous|painful)\b"
)
GOOD: Final = re.compile(
    r"\b(?:good|best|better|useful|required|mandatory|preferred|important|essential|right|wanted"
    r"|needed|necessary|acceptable|helpful|the way to go|what i want|welcome|worth)\b"
)
COPULA: Final = re.compile(r"\b(?:is|are|was|were|be|been|looks?|feels?|seems?|sounds?)\b")
VERBS: Final = re.compile(
    r"add|answer|ask|build|bump|cache|call|catch|change|check|clean|close|commit|confirm|copy"
    r"|create|declare|define|deploy|describe|design|do|document|edit|explain|extract|fetch|fix"
    r"|follow|format|generate|get|give|go|handle|import|include|inline|install|keep|lint|list"
    r"|log|look|make|merge|mention|mock|move|name|open|pin|plan|prefer|print|pull|push|put|read"
    r"|rebase|refactor|regenerate|release|rename|reply|report|restart|return|reuse|review|run"
    r"|save|search|set|show|sign|sort|split|squash|start|stay|stick|store|tag|take|talk|tell"
    r"|test|throw|try|update|use|validate|verify|wait|work|wrap|write"
)
"""Plain forms that begin what somebody is to do."""
FILLERS: Final = re.compile(
    r"\A(?:(?:please|pls|just|now|ok|okay|yes|yeah|nope|hey|hi|actually|and|also|well|really|next"
    r"|time|again|seriously|honestly|anyway|ffs|wtf|jesus|dude|man|alright|right|first|here"
    r"|from now on|going forward|in (?:the )?future|in general|generally|as i said|i said|wait"
    r"|as (?:always|usual)|for the (?:last|nth|\w+th) time|once more|remember|oh|ah|hmm+|ugh|btw"
    r"|to be clear)(?:\s+|$))+"
)
NO_THEN: Final = re.compile(r"\s*no\s+(?=(?:you|i|we|it|that)\b)")
ABOUT: Final = re.compile(
    r"know|understand|think|believe|see|seem|mean|get|care|mind|realize|realise|notice|wonder"
)
CONDITIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("when", "whenever", "while", "if"), "when"),
    **dict.fromkeys(("after", "once"), "after"),
    **dict.fromkeys(("unless", "until", "till"), "unless"),
    "before": "before",
}
REASONS: Final = frozenset({"because", "since", "although", "though"})
OTHERS: Final = frozenset({"instead of", "rather than"})
PLACES: Final = frozenset({"in", "into", "inside", "within", "for", "on", "during", "across"})
"""What comes after them in a negated clause says where, and isn't itself unwanted."""
SENTENCE: Final = re.compile(r"([.!?]+)(?:\s+|$)|\n+")
PARTS: Final = re.compile(
    r"\s*[,;:()\[\]\u2026]+(?:\s+|$)|\s+[-\u2013\u2014]+\s+"
    r"|\b(instead of|rather than|without|unless|until|till|because|since|although|though|before"
    r"|after|once|whenever|when|while|if|but|then)\b"
    r"|\bso (?=(?:you|i|we|please|do|stop|let|never|always)\b)"
    r"|\band (?=(?:you|i|we|please|then)\b)"
)
WORDS: Final = re.compile(r"[a-z]+|\d+")
WISHES: Final = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"(?:and )?who (?:\w+ )?(?:told|asked|said|wants?|wanted)\b", UNWANTED),
        (r".*?\b(?:tell|told|telling|ask|asked|asking) you (?:not |never )?to\b", WANTED),
        (r"i .*?\b(?:want|wanted|need|expect|like) you (?:not |never )?to\b", WANTED),
        (
            r"(?:(?:and|but|so) )?(?:why|how come|what is the point of|since when"
            r"|what is with|what made you)\b",
            UNWANTED,
        ),
        (r"(?:i|we) (?:am|are) (?=sick|tired)|(?:i|we) would (?:much )?rather\b", WANTED),
        (
            r"we (?:do )?(?=(?:not |never |always |only )+(?!have|had|know|think|see|get|got|be\b"
            r"|been|need|saw|heard|want)[a-z])",
            WANTED,
        ),
        (
            r"(?:i|we) (?:(?:would|do|did|will|have|had|am|are|really|only|just|always|actually"
            r"|already|much|rather|strongly|clearly|explicitly) )*(?=(?:not |never )*(?:always "
            r"|only |ever )?(?:want|like|prefer|need|expect|use|accept|write|run|commit|ask|said"
            r"|meant|keep|push|add|test|read|merge|mock|hate|dislike|avoid|wanted|asked|needed|put)\b"
            r"(?! how| that you| the way| what))",
            WANTED,
        ),
        (
            r"(?:you|we|agents?|one) (?=(?:really |always |first |still |also |clearly )*"
            r"(?:should|must|ought|shall|(?:do |did |does )?(?:not )?(?:need|have|has|had) to\b"
            r"|(?:are|were) (?:not )?(?:supposed|expected|meant)|can not|could not))",
            WANTED,
        ),
        (r"(?:can|could|will|would) you (?=not\b|stop\b|please\b|(?:always|never|only)\b)", WANTED),
        (r"(?:can|could) we (?=please\b|stop\b|not\b|avoid\b)", WANTED),
        (r"let us\b", WANTED),
        (r"there (?:is|are) (?:way |far )?(?=too )", WANTED),
        (r"(?:make sure|be sure|ensure|keep in mind|bear in mind|see to it)\b", WANTED),
        (r"it (?=must|should|has to|needs? to)", WANTED),
        (r"(?:only|always|never|not|no|nothing|neither|do not|does not|without)\b", WANTED),
    )
)
"""How a clause may begin, and the direction of what follows, before its negations turn it."""
REPROACH: Final = re.compile(
    r"you (?:(?:still|again|just|clearly|obviously|even|once more|really) )*(?:(?:have|had|did|do"
    r"|are|were) (?:still |again |just )*not|never|for(?:get|got)|keep|kept|always|constantly"
    r"|keep on|skip(?:ped)?|fail(?:ed)?|refused?|ignored?|omitted|left (?:out|off)|missed"
    r"|neglected|are (?:again|still|always|constantly)|hardly|barely|rarely)\b"
)
HALF: Final = re.compile(r"\b(?:only|just|barely|at least|merely)\b")
MODAL: Final = re.compile(r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to|ought to)\b")
QUESTIONS: Final = re.compile(rf"(?:{_AUXILIARY}|shall|may|what|where|who|which|how)\b(?! not\b)")
WISHING: Final = frozenset(
    re.findall(
        r"\w+",
        "want wants wanted like prefer need needs needed expect accept told tell said"
        " meant sure ensure please always ever make keep let us only just also really supposed"
        " expected ought more longer many much too anything everything else any all must shall"
        " again still here there it them me my our we everywhere ourselves something way ways"
        " person use uses used using put puts putting go goes going why",
    )
)
"""Words that say that something is wanted, or how much; they are no things by themselves."""
FRAGMENT: Final = re.compile(
    r"(?!.*\b(?:please|ever|said)\b)(?:no(?! more\b| need\b)|not|nothing|neither|none)\b"
)
"""What begins so by itself may complain that something is missing as well as forbid it."""
LIGHT: Final = frozenset({"write", "make", "create", "add", "include", "work", "sort"})
"""Verbs that ask for nothing of their own beside the thing they stand with."""
GROUPS: Final = (
    re.compile(r"\b(?:full|fully|whole|entire|entirely|complete|completely|all|every|each)\b"),
    re.compile(r"\b(?:only|solely|exclusively|nothing (?:else|but)|no other|anything else)\b"),
    re.compile(r"\b(?:first(?=\s*(?:[,.;:!?]|$))|before|beforehand|up front)\b"),
)
"""Words without which a wish is another one, each with others that say the same."""
_PAIRS: Final = (
    ("short", "long"),
    ("small", "big"),
    ("small", "large"),
    ("brief", "verbose"),
    ("fast", "slow"),
    ("first", "last"),
    ("early", "late"),
    ("sync", "async"),
    ("simple", "complex"),
    ("strict", "loose"),
    ("public", "private"),
    ("old", "new"),
    ("add", "remove"),
    ("together", "separately"),
)
OPPOSITES: Final = frozenset({*_PAIRS, *((right, left) for left, right in _PAIRS)})
"""Words of which a rule can't want one where the person wants the other."""
LIMITS: Final = re.compile(
    r"\b(?:(?P<most>under|below|at most|less than|fewer than|up to|within|max(?:imum)?(?: of)?"
    r"|limit\w*(?: \w+){0,3} to|shorter than|smaller than|not exceed)"
    r"|over|above|at least|more than|min(?:imum)?(?: of)?|longer than|exceed\w*|beyond)"
    r" (?:\w+ )?(?:\d|one|two|three|four|five|six|seven|eight|ten|twenty|fifty|a hundred)"
)
