"""Markdown of people's rule files cut into rules: one instruction each, with its line.

An item of a list is a rule with all that is nested in it; so is a sentence that tells what to do,
with the sentences that explain it. A code block belongs to what stands before it. Numbered steps
are one procedure. Prose, tables of commands, links and examples are no rules.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markdown_it.tree import SyntaxTreeNode

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import compiled, truncate
from synthorg_tui.organisation.directives import (
    Force,
    force_of,
    refers_back,
    starts_with_verb,
    tells_how_it_is,
)
from synthorg_tui.organisation.markdown import (
    blocks_of,
    code_of,
    first_line,
    line_number,
    line_of_text,
    rendered,
    sentences_of,
    text_of,
)
from synthorg_tui.organisation.sections import (
    Kind,
    announces_steps,
    describes_only,
    is_condition,
    is_example,
    is_strict_heading,
    kind_of,
    reverses,
)

MAX_RULE: Final = 2000
"""Characters of one rule; the rest of a longer one, mostly code, is cut."""
MAX_RULES: Final = 2000
"""Rules of one file."""
_MOST_AFTER: Final = 3
"""Sentences of a paragraph that are kept with the instruction before them."""


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A rule as a file has it, in Markdown; ``line`` counts from 1, ``section`` is its heading.

    ``path`` is the file, and ``scope`` what of the project it holds for, where they are known.
    """

    text: str
    category: OrgFactCategory
    section: str
    line: int
    path: str = ""
    scope: str = ""

    @property
    def source(self) -> str:
        """Where it stands, as ``AGENTS.md#L12``."""
        return f"{self.path}#L{self.line}"


def find_rules(text: str) -> tuple[FoundRule, ...]:
    """Find the first ``MAX_RULES`` rules of a Markdown text without front matter, in order."""
    reader = _RuleReader()
    for node in blocks_of(text):
        if len(reader.rules) >= MAX_RULES:
            break
        reader.take(node)
    return tuple(reader.rules[:MAX_RULES])


class _RuleReader:
    """Takes the blocks of a document one after the other."""

    def __init__(self) -> None:
        self.rules: list[FoundRule] = []
        self._headings: list[tuple[int, str]] = []
        self._lead = ""
        self._lead_line = 0
        self._lead_is_bold = False
        self._goes_on = False
        """Whether code that comes now belongs to the last rule."""
        self._after_code = False

    def take(self, node: SyntaxTreeNode) -> None:
        """Take the next block."""
        line = line_number(node)
        if node.type not in _USES_LEAD and self._lead_asks and not _is_general(self._lead):
            code = _ONLY_CODE.fullmatch(text_of(node)) if node.type == "paragraph" else None
            self._add(f"{self._lead} {code[0]}" if code else self._lead, self._lead_line)
        if node.type == "heading":
            self._head(int(node.tag[1]), line_of_text(node))
        elif node.type == "paragraph":
            self._paragraph(text_of(node), line)
        elif node.type in ("bullet_list", "ordered_list"):
            self._list(node)
            self._lead = ""
        elif node.type in ("fence", "code_block"):
            self._code(node)
        elif node.type == "blockquote":
            for child in node.children:
                self.take(child)
        else:
            self._lead, self._goes_on = "", False

    @property
    def _lead_asks(self) -> bool:
        asks = self._lead.endswith((":", "\uff1a")) or self._lead_is_bold
        return asks and force_of(self._lead) is not Force.NONE

    @property
    def _context(self) -> tuple[str, ...]:
        lead = (self._lead,) if self._lead else ()
        return (*(name for _, name in self._headings), *lead)

    @property
    def _section(self) -> str:
        names = [name for _, name in self._headings]
        return " \u203a ".join(names[1:][-2:] if len(names) > 1 else names)

    def _head(self, level: int, name: str) -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, name))
        self._lead, self._goes_on = "", False

    def _add(self, text: str, line: int, *, category: OrgFactCategory | None = None) -> None:
        text = text.strip()
        if category is None:
            first = sentences_of(first_line(text), 0)[0][0]
            strict = force_of(first) is Force.STRICT or any(
                is_strict_heading(name) for name in self._context[-1:]
            )
            category = OrgFactCategory.CORE_POLICY if strict else OrgFactCategory.CONVENTION
        rule = FoundRule(truncate(text, MAX_RULE, " \u2026"), category, self._section, line)
        self.rules.append(rule)
        self._goes_on = True

    def _code(self, node: SyntaxTreeNode) -> None:
        if self._lead_asks:
            self._add(self._lead, self._lead_line)
        if self._goes_on and self.rules:
            last = self.rules[-1]
            label = f"{self._lead}\n" if self._lead and is_example(self._lead) else ""
            text = f"{last.text}\n\n{label}{code_of(node)}"
            self.rules[-1] = replace(last, text=truncate(text, MAX_RULE, "\n\u2026"))
        self._lead, self._after_code = "", self._goes_on

    def _paragraph(self, text: str, line: int) -> None:
        name = _bare_heading(text)
        if name:
            if not (is_example(name) and self._goes_on):
                self._goes_on = False
            self._lead, self._lead_line = name, line
            self._lead_is_bold = not text.rstrip().endswith(":")
            return
        sentences = sentences_of(text, line)
        leads = sentences[-1][0].endswith((":", "\uff1a"))
        last, last_line = sentences.pop() if leads else ("", 0)
        before = len(self.rules)
        if self._after_code and self._goes_on and sentences and refers_back(text):
            rule, more = self.rules[-1], " ".join(sentence for sentence, _ in sentences)
            whole = truncate(f"{rule.text}\n{more}", MAX_RULE, " \u2026")
            self.rules[-1] = replace(rule, text=whole)
        else:
            run_in = len(sentences) > 1 and _RUN_IN.match(text) is not None
            for group, start in _whole(sentences) if run_in else _instructions(sentences):
                self._add(group, start)
            if len(self.rules) == before and not (leads and is_example(last)):
                self._goes_on = False
        self._lead, self._lead_line, self._after_code = last, last_line, False
        self._lead_is_bold = False

    def _list(self, node: SyntaxTreeNode) -> None:
        items = [_Item.of(child) for child in node.children]
        kind = kind_of(self._context)
        if node.type == "ordered_list" and self._is_procedure(items, kind):
            lead = f"{self._lead}\n" if self._lead else ""
            text = lead + "\n".join(f"{n}. {item.text}" for n, item in enumerate(items, 1))
            line = self._lead_line if self._lead else items[0].line
            self._add(text, line, category=OrgFactCategory.PROCEDURE)
            return
        ordered = node.type == "ordered_list"
        asking = [item.asks(kind, self._context[-1:], ordered=ordered) for item in items]
        ruled = kind_of(self._context[-1:]) is Kind.RULES
        if self._lead_asks and sum(asking) * 2 < len(items) and not _is_general(self._lead):
            text = "\n".join([self._lead, *(f"- {item.text}" for item in items)])
            self._add(text, self._lead_line)
            return
        for item, asks in zip(items, asking, strict=True):
            self._goes_on = False
            if asks or (ruled and item.may_be_rule):
                self._add(self._with_lead(item.text), item.line)

    def _is_procedure(self, items: "Sequence[_Item]", kind: Kind) -> bool:
        nearest = self._context[-1] if self._context else ""
        names = [name for name in self._context[-2:] if name]
        if len(items) < 2 or (kind is Kind.PROSE and not announces_steps(nearest)):
            return False
        doing = sum(item.is_step for item in items)
        named = any(announces_steps(name) for name in names) or force_of(nearest) is not Force.NONE
        ruled = kind is Kind.RULES and not announces_steps(nearest)
        return named and not ruled and doing * 10 >= len(items) * 6

    def _with_lead(self, text: str) -> str:
        """An item with the words before its list, where it says something else without them."""
        lead = self._lead or (self._headings[-1][1] if self._headings else "")
        begins = " ".join(text.split(maxsplit=4)[:4])
        says_itself = compiled(r"(?i)\b(?:never|not|don'?t|avoid|no|ask)\b|n't\b").search(begins)
        short = len(lead.split()) <= 6
        if (reverses(lead) and short and not says_itself) or (
            self._lead and is_condition(lead) and len(lead) <= 160
        ):
            if _is_general(lead):
                lead = lead.partition(",")[0]
            return f"{lead.rstrip(' :')}: {text}"
        return text


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a list: its Markdown, its first paragraph, and the lines of text in it."""

    text: str
    head: str
    parts: tuple[str, ...]
    line: int

    @classmethod
    def of(cls, node: SyntaxTreeNode) -> "_Item":
        parts = tuple(
            _unboxed(" ".join(each.content.split()))
            for each in node.walk()
            if each.type == "inline"
        )
        first = node.children[0] if node.children else None
        head = line_of_text(first) if first is not None and first.type == "paragraph" else ""
        text, head = _unboxed(rendered(node)), _unboxed(head)
        return cls(text, head, parts, line_number(node))

    @property
    def may_be_rule(self) -> bool:
        """Whether it can be a rule below a heading that announces rules."""
        # A reference explains a name: a file, command, link or term, and what that is.
        is_reference = _REFERENCE.match(self.head) and not starts_with_verb(self.head)
        named = (
            not is_reference
            and not _CONTENTS.fullmatch(self.head)
            and len(self.head) > 3
            and not self.head.endswith("?")
        )
        return named and not tells_how_it_is(self.head) and not _NO_RULE.match(self.head)

    @property
    def is_step(self) -> bool:
        """Whether it is something to do, with or without a label."""
        label = compiled(r"[^:\u2014]{2,60}(?::| [\u2014\u2013-])\s+").match(self.head)
        rest = self.head[label.end() :] if label else ""
        return starts_with_verb(self.head) or bool(rest and starts_with_verb(rest))

    def asks(self, kind: Kind, nearest: Sequence[str], *, ordered: bool) -> bool:
        """Tell whether it says what to do, itself or in what is nested in it."""
        force = max((_force_of_part(part) for part in self.parts), default=Force.NONE)
        if kind is not Kind.PROSE:
            return force is not Force.NONE
        told = not any(map(describes_only, nearest)) or _OF_ITS_USE.match(self.head) is not None
        # With a label it begins with a term, or ends with the command that it is about.
        label = (each.match(self.head) for each in (_LABELLED, _COMMAND, _REFERENCE))
        plain = told and starts_with_verb(self.head) and not ordered and not any(label)
        return force is Force.STRICT or (plain and force is not Force.NONE)


_REFERENCE: Final = re.compile(
    r"(?:\*\*|__)?(?:`[^`]+`|\[[^\]]+\]\([^)]*\)|https?://\S+)(?:\*\*|__)?"
    r"(?:\s*\([^)]*\))?(?:,? (?:and|or|/) `[^`]+`)*\s*(?::|[-\u2013\u2014=]+>?\s|\u2192|$)"
    r"|[^:`]{2,48}: `[^`]+`(?:(?:,| or| and| \([^)]*\)?) ?(?:`[^`]+`)?(?: \([^)]*\))?)*$"
)
"""What explains a name: a file, command, link or term, and what that is."""
_OF_ITS_USE: Final = re.compile(
    r"(?i)(?:^|[.;,] |\u2014 )\W*(?:use|prefer|do not|don'?t|never|always|avoid|only|keep|treat"
    r"|read|invoke|must|ensure|follow|run|check)\b"
)
"""Where what is explained turns into what to do with it."""
_CONTENTS: Final = re.compile(r"\[[^\]]*\]\(#[^)]*\)[\s.]*|.{0,200}:\s*\[[^\]]+\]\([^)]*\)\.?")
"""A line of a table of contents, or a name with a link."""
_NO_RULE: Final = re.compile(r"(?i)\W*(?:examples?|benefits?|advantages|e\.g\.|see also)\b")
_COMMAND: Final = re.compile(r"[^:`]{2,48}: `")
_LABELLED: Final = re.compile(
    r"(?:\*\*|__|`)[^*`]+(?:\*\*|__|`)\s*(?:\([^)]*\)\s*)?[:\u2013\u2014-]"
)


def _force_of_part(part: str) -> Force:
    force = max((force_of(each) for each, _ in sentences_of(part, 0)), default=Force.NONE)
    named = _REFERENCE.match(part)
    if _CONTENTS.fullmatch(part):
        return Force.NONE
    if named is None or starts_with_verb(part) or _OF_ITS_USE.search(part[named.end() :]):
        return force
    return force if force is Force.STRICT else Force.NONE


def _unboxed(text: str) -> str:
    """An item without the box that somebody ticks."""
    return compiled(r"^\[[ xX]\]\s+").sub("", text)


def _is_general(lead: str) -> bool:
    """Whether a lead-in only says that rules follow."""
    return bool(
        compiled(
            r"(?i).*\b(?:these|the following|following|below)\b.*\b(?:rules?|guidelines?"
            r"|conventions?|principles?|practices?|standards?|requirements?|points?|instructions?"
            r"|steps?)\b"
        ).match(lead)
    )


def _instructions(sentences: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Join sentences into instructions, each with what explains it, and its line."""
    group: list[str] = []
    line = after = 0
    before: tuple[str, int] | None = None
    for sentence, at in sentences:
        asks = force_of(sentence) is not Force.NONE
        goes_on = bool(group) and refers_back(sentence)
        if asks and not goes_on:
            if group:
                yield " ".join(group), line
            it = compiled(r"(?i)\b(?:it|them|those)\b")
            points_back = refers_back(sentence) or it.search(sentence) is not None
            needs = before is not None and not group and points_back
            group, line = (
                ([before[0], sentence], before[1]) if needs and before else ([sentence], at)
            )
            after = 0
        elif group and after < _MOST_AFTER:
            group.append(sentence)
            after += not asks
        before = (sentence, at)
    if group:
        yield " ".join(group), line


_RUN_IN: Final = re.compile(
    r"(?:\*\*|__)[^*]{2,80}[.:](?:\*\*|__):?\s|(?:\*\*|__)[^*]{2,80}(?:\*\*|__):\s"
)
"""The heading of a paragraph in its first words, which makes it one rule."""


def _whole(sentences: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """All sentences as one instruction, if any of them is one."""
    if any(force_of(sentence) is not Force.NONE for sentence, _ in sentences):
        yield " ".join(sentence for sentence, _ in sentences), sentences[0][1]


def _bare_heading(text: str) -> str:
    """The words of a paragraph that is only a heading; empty for any other."""
    line = " ".join(text.split())
    bold = compiled(r"(?:\*\*|__)([^*]+?)[:.]?(?:\*\*|__):?").fullmatch(line)
    words = bold[1] if bold else line
    short = len(words.split()) <= 8 and len(words) <= 80
    asks = force_of(words) is not Force.NONE and not reverses(words)
    if not short or words.endswith(_ENDS) or (asks and (not bold or "." in line[-3:])):
        return ""
    return words if bold or line.endswith(":") or words[:1].isupper() else ""


_ENDS: Final = (".", "!", "?", ",", ";", "\u3002")
_ONLY_CODE: Final = re.compile(r"`[^`]+`")
_USES_LEAD: Final = ("bullet_list", "ordered_list", "fence", "code_block")
