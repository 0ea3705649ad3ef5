"""Phrases that a lesson has no use for: words that try to steer a model or its reader.

They are matched on text in lower case and of one alphabet, with single spaces.
"""

import re
from typing import Final

_GAP = r"(?: \w+){0,3}"
_NOT = r"\b(?:do not|don[' ]?t|never|stop)"
_DROP = r"\b(?:ignore|disregard|forget|override|bypass)"
_TELL = r"\b(?:reveal|disclose|leak|expose|print|repeat|output|show)"
_ORDERS = r"(?:instruction|prompt|rule|directive|message|guideline|direction|context)s?\b"
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|system)"
_OTHERS = r"(?:the )?(?:user|human|operator|developer|person|reviewer|owner)\b"
_SECRETS = (
    r"(?:secret|credential|password|token|api[ _-]?key|private key|ssh key|environment variable)s?"
)
_TAGS = (
    r"(?:system|system-reminder|instructions?|assistant|memory-entry|task-data|tool-result|data"
    r"|untrusted[\w-]*|function_calls|tool_use)\b"
)

_OVERRIDES = (
    rf"{_DROP}{_GAP} {_EARLIER}{_GAP} {_ORDERS}",
    rf"{_DROP}(?: (?:all|any|every|the|your|of|these|those|my)){{1,3}} {_ORDERS}",
    rf"{_DROP} (?:everything|anything|all|what was)(?: \w+)?"
    r" (?:above|before|earlier|previously)\b",
    rf"{_NOT} (?:follow|obey|heed|comply with|listen)(?:ing)?(?: to)?{_GAP} {_ORDERS}",
    r"\bnew (?:system )?(?:instructions?|prompt) ?:",
    # German; French, Spanish, Italian, Portuguese; Chinese; Russian
    r"\bignorier\w*(?: \w+){0,3} (?:anweisung|vorgabe|regel)\w*",
    r"\bignor\w*(?: \w+){0,3} (?:instru[cçz]\w+|istruzioni) (?:pr[ée]c[ée]dent|anterior)\w*",
    r"(?:忽略|无视|無視)[^\n。]{0,12}(?:指令|指示|提示|规则|命令)",
    r"игнорир\w*(?: \w+){0,3} (?:инструкц|указан|правил)\w*",
)
_IDENTITIES = (
    r"\byou are (?:now|no longer|actually)\b(?! (?:on|in|at|able|ready|done|connected|using)\b)",
    r"\bfrom now on,? you\b",
    r"\b(?:act as|pretend to be|you are|behave like) (?:an? )?"
    r"(?:unrestricted|uncensored|jailbroken|root|admin|dan|evil|different ai)\b",
)
_EXTRACTIONS = (
    rf"{_TELL}{_GAP} (?:system|hidden|initial|original|secret) (?:prompt|instruction|message)s?\b",
    rf"\b(?:reveal|disclose|leak|repeat){_GAP} (?:prompt|instruction)s?\b",
    rf"\b(?:send|post|upload|forward|exfiltrate|e?mail|transmit)\b.{{0,60}}\b{_SECRETS}\b"
    r".{0,60}\b(?:to|https?)\b",
)
_SECRECY = (
    rf"{_NOT} (?:tell|inform|mention|reveal|show|alert|notify|ask)"
    rf"(?: this| it| that| any of this)?(?: to)? {_OTHERS}",
    rf"\bwithout (?:telling|asking|informing|notifying|alerting) {_OTHERS}",
)
_APPROVALS = (
    r"\b(?:approve|accept) (?:this|all|every|these|any)(?: \w+){0,2}"
    r" (?:proposal|skill|lesson|memory|memories|request|item|change)s?\b",
    rf"\b(?:already|was|been|is) (?:been )?(?:approved|reviewed|authori[sz]ed) by {_OTHERS}",
    r"\b(?:the )?user has (?:already )?(?:approved|authori[sz]ed|allowed)\b",
    r"\bproposals? approve\b",
    r"--dangerously-skip-permissions\b|--dangerously-bypass-approvals-and-sandbox\b"
    r"|\bbypasspermissions\b|--yolo\b",
    r"\b(?:disable|turn off|bypass|circumvent)(?: \w+){0,2}"
    r" (?:sandbox|safety|guardrail|filter|approval|permission)s?(?: check| prompt| mode)?s?\b",
)
_MARKUP = (
    r"<\|[a-z_]{2,24}\|>|\[/?inst\]|<</?sys>>|</?start_of_turn>|</?end_of_turn>",
    rf"< ?{_TAGS}[^<>]{{0,80}}>|< ?/ ?{_TAGS}",
    r'"role" ?: ?"(?:system|assistant|developer)"',
)

PHRASES: Final = tuple(
    re.compile(pattern)
    for group in (_OVERRIDES, _IDENTITIES, _EXTRACTIONS, _SECRECY, _APPROVALS, _MARKUP)
    for pattern in group
)
"""Anywhere in a text, line breaks taken for spaces."""

LINE_STARTS: Final = re.compile(
    r"^ ?(?:(?:[#>*] ?)*(?:system|assistant|developer|human) ?:"
    r"|#{1,6} ?(?:system|(?:new )?instructions?)(?: prompt)? ?:)",
    re.MULTILINE,
)
"""What poses as somebody else's turn."""
