"""Whether a text tells somebody what to do, and how strictly; by its words alone.

Files of rules mix instructions with prose about the project. What is taken for a rule here becomes
one that agents follow, so a text that only might be one is left to its section: a bare "4 spaces"
is a convention below "Code style", and a description below "Architecture".
"""

import re
from enum import IntEnum
from typing import Final

from synthorg_tui.core.text import compiled


class Force(IntEnum):
    """How strictly a text asks: not at all, plainly, or in words that allow no exception."""

    NONE = 0
    PLAIN = 1
    STRICT = 2


_VERBS: Final = frozenset(
    re.findall(
        r"[\w-]+",
        "abort accept achieve acknowledge activate add adhere adjust adopt advise aim align allow"
        " amend analyse analyze announce annotate answer append apply ask assert assign assume"
        " attach attempt audit avoid batch be begin bind bootstrap branch break bring build bump"
        " bundle call cap capture catch centralise centralize change check choose cite clarify"
        " classify clean clear clone close collect combine comment commit communicate compare"
        " compile complete compose compute condense confirm conform connect consider consolidate"
        " construct consult continue convert coordinate copy correct cover craft create cross-"
        " check cut debug declare decompose decorate default defer define delegate delete deliver"
        " demonstrate deploy deprecate derive describe design destructure detect determine develop"
        " diagnose disable discard disclose discuss display distinguish do document double-check"
        " download draft drop edit elaborate eliminate embed embrace emit employ enable"
        " encapsulate enclose encode end enforce ensure enter enumerate escalate escape establish"
        " estimate evaluate examine exclude execute exit expand expect explain explore export"
        " expose express extend extract factor fail fetch file fill filter find finish fix flag"
        " flatten flush focus follow force forget format gather generate get give go group guard"
        " handle highlight hoist hold honor honour identify ignore implement import improve"
        " incline include increase increment indent indicate infer inherit initialise initialize"
        " inject inline insert inspect install instrument integrate introduce invalidate"
        " investigate invoke isolate iterate join jump justify keep kill know label land launch"
        " lead learn leave let leverage limit link lint list listen load locate lock log look"
        " lower maintain make manage map mark match maximise maximize measure memoize mention"
        " merge migrate minimise minimize mirror mock model modify modularise modularize monitor"
        " mount move name navigate nest normalise normalize note notify observe obtain omit open"
        " optimise optimize order organise organize output override parallelise parallelize"
        " parametrize parse pass patch pause perform pick pin place plan populate prefer prefix"
        " prepare present preserve prevent print prioritise prioritize probe proceed process"
        " produce profile prompt propagate propose protect prove provide publish pull push put"
        " query quote raise reach read reason rebase rebuild recompile reconcile record recover"
        " redact reduce refactor refer reference refine refrain refresh register regenerate reject"
        " rely remain remember remind remove rename render reorganize repeat replace reply report"
        " represent reproduce request require reread re-read rerun re-run reserve reset resolve"
        " respect respond restart restore restrict retain rethink retry return reuse reverse"
        " revert review revise rewrite roll rotate round route run sanitise sanitize save scan"
        " schedule scope scrutinize search select send separate serialize serve set share ship"
        " show sign simplify skip snapshot solve sort specify split squash stage standardise"
        " standardize start state stay stick stop store stream strip strive structure stub submit"
        " subscribe substitute suggest summarise summarize support suppress surface suspect swap"
        " switch sync tag take target tell terminate test think thread throttle throw tidy tie"
        " trace track translate treat triage trim trust try turn type-check type understand undo"
        " unmount unset unwrap update upgrade upload use utilise utilize validate verify version"
        " view wait walk warn watch weigh work wrap write yield",
    )
)
"""Plain forms that may begin an instruction."""

_NOUNS_TOO: Final = frozenset(
    re.findall(
        r"[\w-]+",
        "branch break build bundle call cap catch change check clone comment commit copy cover"
        " cut debug default delegate deploy design display document download draft drop edit end"
        " exit export fail file filter fix flag focus force format function group guard handle"
        " hold import index inline install issue label land launch lead limit link lint list load"
        " lock log look map mark match measure merge mirror mock model mount move name note order"
        " output override pass patch pause pick pin place plan prefix present print process"
        " profile prompt pull push query quote raise reach reason record reference release render"
        " report request reset return reverse review roll rotate round route run scan schedule"
        " scope search select set share ship show sign skip snapshot sort split stage start state"
        " stop store stream strip structure stub support surface swap switch tag target test think"
        " thread throw tie trace track trust try turn type update upgrade upload version view wait"
        " walk watch work wrap",
    )
)
"""Those that are nouns as often: what follows has to show that they are none."""

_OBJECT: Final = (
    r"(?:the|a|an|any|all|each|every|both|either|no|your|our|its|their|his|these|those|this|that"
    r"|it|them|only|new|existing|relevant|related|sure|on|in|with|from|to|up|out|down|off|over"
    r"|through|against|into|for|at|by|as|if|whether|when|where|before|after|until|once|how|what"
    r"|which|why|back|away|together|one|two|more|most|least|first|and|or|carefully|early"
    r"|locally|explicitly|manually|directly|always|immediately|small|clear|short|long|large"
    r"|unused|public|private|external|internal|complex|simple|unnecessary|inside|outside|under"
    r"|about|like|without|within|per|`|\"|'|\$|\*|<|\(|\[|_|@|/|\d)"
)
"""What follows a verb that is none of the nouns it could be."""
_THING: Final = (
    r"(?:unit |integration )?(?:code|data|errors?|tests?|changes|files|functions|classes|types"
    r"|dependencies|imports|inputs?|docs|documentation|names|commits|secrets|logs)"
    r"(?:$|[.,;!]|\s+(?:with|for|in|before|after|when|using|and|on|to|at|as|by|that|if|from"
    r"|into)\b)"
)

_PRE: Final = (
    r"(?:(?:please|also|then|first|next|finally|instead|otherwise|generally|typically|usually|just"
    r"|always|never|only|and|or|but|so|strongly|ideally|explicitly|carefully|actively|proactively"
    r"|where possible|whenever possible|if possible|when possible|if needed|if necessary|by default"
    r"|as needed|in general|at minimum|at a minimum|do not|don'?t|do|must|not|to be clear|again"
    r"|remember to|be sure to|make sure to|make sure|you must|you should|agents must|agents should"
    r"|in addition|additionally|furthermore|after that|afterwards|immediately|automatically"
    r"|manually|directly|simply|either|both)[,:]? )*"
)

_CONDITION: Final = (
    r"(?!in (?:particular|short|fact|practice|summary|other words|addition"
    r"|general)\b)(?:when(?:ever)?|if|before|after|for|in|on|once|unless|while|during|to|at"
    r"|with|as|by|until"
    r"|where(?:ver)?|from|under|within|inside|across|every time|each time|any time|instead of"
    r"|rather than|because|since|given|prior to|following|upon|without|outside|unlike)\b"
)

_STRICT: Final = (
    r"\b(?:must(?: not| never|n'?t)?|shall(?: not)?|mustn'?t|never|forbidden|prohibited"
    r"|not (?:allowed|permitted|acceptable|negotiable|optional)|non-negotiable|mandatory"
    r"|under no circumstances?|no exceptions?|disallowed|banned"
    r"|unacceptable|is required|are required)\b"
)

_PLAIN: Final = (
    r"\b(?:should(?: not|n'?t)?|ought to|(?<!they )(?<!we )(?<!i )(?<!that )(?<!users )(?:do not"
    r"|don'?t) (?:ever )?[a-z-]+|ha(?:s|ve) to|needs? to|make sure|be sure|(?:is|are) preferred"
    r"|preferred (?:over|to|way)|is discouraged|is encouraged|(?:is|are|it's) recommended"
    r"|off[- ]limits|no longer "
    r"(?:use|allowed)|avoid|prefer|is (?:a )?(?:bug|mistake|wrong|an error|incorrect)|read-only"
    r"|is expected to|are expected to|goes? (?:in|into|under|to)\b|belongs? (?:in|to|into)\b"
    r"|required|not needed)\b"
)

_OTHER_TONGUES: Final = (
    r"必须|必須|不要|不得|禁止|请勿|請勿|务必|務必|应当|应该|應該|优先|避免|始终|永远|使用|确保|してください|しないで"
    r"|해야|하지 마|\b(?:immer|niemals|nie|muss|müssen|darf nicht|dürfen nicht|nicht verwenden"
    r"|toujours|jamais|ne pas|il faut|doit|doivent|siempre|nunca|debe|deben|no usar|sempre|deve"
    r"|devem|não use|utilizar)\b|(?:всегда|никогда|нельзя|обязательно|не используй)"
)

_LOUD: Final = r"\b(?:MUST|NEVER|ALWAYS|DO NOT|DON'?T|SHALL|FORBIDDEN|PROHIBITED|REQUIRED|NOT)\b"
_ALERT: Final = (
    r"(?:critical|important|warning|mandatory|never|always|must|do not|don'?t|hard rule"
    r"|non-negotiable|forbidden|required|no)\b"
)
_OPENING: Final = r"\A(?:[^\w`\"'(\[<@/$*_.~-]+\s*)+"
"""Emoji, arrows and other signs before the first word."""


def force_of(text: str) -> Force:
    """Tell how strictly a sentence or item asks; markup in it makes no difference."""
    plain = _plain(text)
    if not plain:
        return Force.NONE
    if compiled(_LOUD).search(plain) or compiled(f"(?i){_ALERT}").match(plain) or _is_strict(plain):
        return Force.STRICT if _is_instruction(plain) or _is_strict(plain) else Force.NONE
    return Force.PLAIN if _is_instruction(plain) else Force.NONE


def starts_with_verb(text: str) -> bool:
    """Tell whether a text begins with what is to be done: "Run the tests", "Never push"."""
    return _begins_imperative(_plain(text).lower())


def refers_back(text: str) -> bool:
    """Tell whether a sentence only makes sense with the one before it."""
    return bool(
        compiled(
            r"(?i)(?:this|that|these|those|it|they|then|otherwise|instead|so|because|for example"
            r"|for instance|e\.g\.|i\.e\.|such|doing so|if (?:not|so|it|this|that|they|any)\b"
            r"|when (?:it|this|that) |the same|again|also|likewise|similarly|however|but|and|or"
            r"|even|in (?:that|this|such) (?:case|way)|see|note that|both|either|neither|once done"
            r"|afterwards|after that|thus|hence|therefore|which|except|unless|only then)\b"
        ).match(_plain(text))
    )


def _plain(text: str) -> str:
    """One line without emphasis and without signs that come before the first word."""
    line = " ".join(text.split()).replace("\u2019", "'")
    line = compiled(r"\[([^\]]*)\]\([^)]*\)").sub(r"\1", line)
    line = compiled(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)").sub("", line)
    return compiled(_OPENING).sub("", line).strip()


def _is_strict(plain: str) -> bool:
    return compiled(_STRICT).search(_without_code(plain).lower()) is not None


def _without_code(plain: str) -> str:
    return compiled(r"`+[^`]*`+").sub("`x`", plain)


def _is_instruction(plain: str) -> bool:
    lower = _without_code(plain).lower()
    if lower.endswith("?"):
        return False
    if compiled(rf"(?:{_PLAIN})|(?:{_OTHER_TONGUES})").search(lower) and not _describes(lower):
        return True
    if _is_strict(plain) and not _describes(lower):
        return True
    pointer = lower.startswith(("for more ", "for further ", "for additional ", "for full details"))
    return not pointer and any(_begins_imperative(clause) for clause in _clauses(lower))


def _describes(lower: str) -> bool:
    """Whether words such as "always" only tell how something is."""
    return bool(
        compiled(
            r"(?:no need\b|for (?:more|further|additional|full) (?:\w+ )?(?:details?"
            r"|information|info"
            r"|context|examples?)\b|you can|users? can|it|this|which|that|who|what"
            r"|there)\b(?!.*\b(?:must|should|never"
            r"|do not|don't)\b)"
        ).match(lower)
    )


def _clauses(lower: str) -> tuple[str, ...]:
    """The places in a sentence where an instruction may begin."""
    found = [lower]
    label = r"(?:[^\s.:!?\u2014`]+ ){0,4}[^\s.:!?\u2014`]+(?::| [\u2014\u2013-]) +"
    if match := compiled(label).match(lower):
        found.append(lower[match.end() :])  # a label
    found += [
        f for f in compiled(r"; |\. | [\u2014\u2013] |[\u2705\u274c] ?").split(lower)[1:] if f
    ]
    if compiled(_CONDITION).match(found[-1]) or compiled(_CONDITION).match(lower):
        source = lower if compiled(_CONDITION).match(lower) else found[-1]
        found += [source[m.end() :] for m in compiled(r"(?:, |: )").finditer(source)]
    return tuple(found)


def _begins_imperative(lower: str) -> bool:
    rest = lower[compiled(_PRE).match(lower).end() :]  # type: ignore[union-attr]
    negated = rest != lower and compiled(r"\b(?:not|don'?t|never|only|always|please)\b").search(
        lower[: len(lower) - len(rest)]
    )
    match = compiled(r"([a-z]+(?:-[a-z]+)?)(?=$|[\s.,;:!?/`\u2014-])(:?)\s*(.*)").match(
        rest.rstrip(" :")
    )
    if match is None or match[1] not in _VERBS or match[2]:
        return False
    if not match[3] and rest.endswith(":"):
        return True
    if negated or match[1] not in _NOUNS_TOO:
        return match[3] != "" or bool(negated) or match[1] not in _NOUNS_TOO
    plainly = rf"{_OBJECT}(?![a-z-])|{_THING}|[`\"'$*<(\[_@/\d]"
    if compiled(plainly).match(match[3]) is not None:
        return True
    named = len(match[3].split()) < 3 or ":" in match[3][:30].rstrip(":")
    return not named and not tells_how_it_is(" ".join(match[3].split()[:6]))


def tells_how_it_is(text: str) -> bool:
    """Tell whether a text is a statement about something, as "The parser reads files"."""
    lower = compiled(r"\([^()]*\)").sub("", _without_code(_plain(text)).lower())
    if compiled(
        r"\b(?:is|are|was|were|has|have|had|will|can|may|lives?|handles|includes|contains|supports"
        r"|provides|defines|returns|comes|makes|serves|uses|runs|reads|owns|means|cover"
        r"|assess|contain|provide|include|live|serve|sit|mirror|mirrors)\b"
    ).search(lower):
        return True
    first = compiled(r"[a-z]+").match(lower)
    return first is not None and first[0].endswith("s") and first[0][:-1] in _VERBS - _NOUNS_TOO
