"""A person's wishes in words: what a correction is called, when it applies, and what was said.

The person's own words stay as they are. What stands around them says in plain words in which
situation an agent has to think of them, and what the agent had done when they were said.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.languages import in_english
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.ingest.extract.said import PASSING, READ_WHOLE, WORDS, Reaction, shown
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords

_MAX_NAME_WORDS = 5
_MAX_COMMAND = 60
_MAX_QUOTE = 80
_LEAST_SPACES = 2
"""What a sentence of an answer has at least; "Done." says nothing of it."""
_FORBIDS = frozenset({"dont", "never"})
_CHECKS = {
    "commit": "`git status` has nothing left to commit.",
    "push": "`git status` says that the branch is up to date with its remote.",
}
_DONE = {"edit": "changed", "write": "written", "read": "read"}


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person said of how to work, and the act that it followed.

    ``act`` is the agent's act in short, ``after`` the same as a clause about the agent, and
    ``files`` those it had changed since the person spoke before, relative to the project.
    ``first_line`` and ``last_line`` are of the turn and the act. ``then`` is the command that the
    agent ran because of it, when that shows what had been left out or undone.
    """

    reaction: Reaction
    act: str
    files: tuple[str, ...]
    first_line: int
    last_line: int
    at: datetime | None
    then: str = ""
    after: str = ""

    @property
    def was_left_out(self) -> bool:
        """Whether it is something that the agent had to be asked for."""
        return bool(self.then) and self.reaction.certainty > PASSING


def wish_words(execution: Execution, best: Correction, same: Sequence[Correction]) -> LessonWords:
    """Return the words of a wish: ``best`` says it most plainly of ``same``."""
    title = _title(best, same)
    return LessonWords(
        name=_name(title),
        title=title,
        when=f"{_when(best, title, stored(execution.project_name, 60))}.",
        do=_do(best),
        why=f"{_why(best, same)} {_scope(execution, best)}",
        check=_CHECKS.get(best.then.removeprefix("git "), "") if best.was_left_out else "",
    )


def act_clause(execution: Execution, call: ToolCall) -> str:
    """Return what the agent had done by a call, as it goes on after "the agent"."""
    had = "had" if call.outcome in {CallOutcome.OK, CallOutcome.FAILED} else "wanted to"
    if call.is_shell:
        return f"{had} run `{_command(execution, call)}`"
    verb, _, what = call.intent.partition(" ")
    name = stored(what.replace("\\", "/").rpartition("/")[2].split(",")[0], _MAX_COMMAND)
    if verb not in _DONE or not name or "`" in name:
        return ""
    done = _DONE[verb] if had == "had" else {"edit": "change"}.get(verb, verb)
    return f"{had} {done} `{name}`"


def answer_clause(answer: str) -> str:
    """Return the first sentence of an answer, as it goes on after "the agent"; mostly short."""
    plain = WORDS["marks"].sub("", WORDS["heading"].sub("", answer))
    sentences = (part.strip(' .:,“”"\n') for part in WORDS["sentence_end"].split(plain))
    telling = next((part for part in sentences if part.count(" ") >= _LEAST_SPACES), "")
    return f"had answered “{stored(telling, _MAX_QUOTE)}”" if telling else ""


def capital(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def stored(text: str, limit: int) -> str:
    """Return a recorded text as it may be stored: one line, no secrets, nothing hidden."""
    return shown(redact_text(text, RedactionTally()), limit)


def _command(execution: Execution, call: ToolCall) -> str:
    text = stored(execution.relative(call.arguments), 10 * _MAX_COMMAND)
    if len(text) > _MAX_COMMAND or "`" in text:
        steps = command_steps(call.arguments)
        text = stored(steps[-1].intent if steps else call.intent, _MAX_COMMAND)
    return text.replace("`", "")


def _title(best: Correction, same: Sequence[Correction]) -> str:
    if best.reaction.topic == READ_WHOLE and len({one.reaction.rule for one in same}) > 1:
        return "Read files in full"
    return capital(WORDS["from_now"].sub("", stored(best.reaction.rule, MAX_TITLE)))


def _when(best: Correction, title: str, project: str) -> str:
    """The situation, as it goes on after "Use when"."""
    here = f" in {project}" if project else ""
    said = best.reaction.said
    if best.reaction.topic == READ_WHOLE:
        file = WORDS["file"].search(said) or WORDS["file"].search(best.act)
        return f"reading files{here}{_such_as(file)}"
    if best.was_left_out:
        return "you are about to say that work is done"
    if WORDS["not_done"].search(said):
        return f"you are about to say that work{here} is done"
    rule = WORDS["tail"].sub("", WORDS["adverbs"].sub("", title))
    known = title[:1] != "“" and _of_rule(rule, here, negative=best.reaction.negative)
    return known or _of_act(best, here)


def _of_rule(rule: str, here: str, *, negative: bool) -> str:
    """The situation that a rule names itself; empty when it names none."""
    rule = f"{rule[:1].lower()}{rule[1:]}" if rule[1:2].islower() else rule
    if negative:
        rule = WORDS["limits"].split(rule, maxsplit=1)[0]
    elif moment := WORDS["when"].search(rule):
        return _of_moment(moment["word"].lower(), moment["what"], here)
    here = f",{here}" if here and " in " in rule else here
    if instead := WORDS["instead_of"].match(rule):
        return f"you are about to use {instead['other']}{here}"
    verb, _, what = rule.partition(" ")
    if negative:
        if WORDS["light"].fullmatch(verb) or not verb.isalpha():
            return ""
        return f"{'' if WORDS['gerund'].fullmatch(verb) else 'you are about to '}{rule}{here}"
    if not (WORDS["work"].fullmatch(verb) and what):
        return ""
    return f"you are about to {verb} {what}{here}"


def _of_moment(word: str, what: str, here: str) -> str:
    subject, _, act = what.partition(" ")
    if word in {"before", "after"}:
        about = word == "before" and subject in {"you", "we"}
        return f"you are about to {act}{here}" if about else f"working{here}, {word} {what}"
    return f"you {act}{here}" if subject == "we" else f"{what}{here}"


def _of_act(best: Correction, here: str) -> str:
    """The situation that the agent was in."""
    verb, _, what = best.act.partition(" ")
    example = _such_as(WORDS["file"].search(what))
    if verb in _DONE and example:
        return f"{'reading' if verb == 'read' else 'changing'} files{here}{example}"
    return f"working{here}" if here else "working on a task of this person"


def _such_as(file: re.Match[str] | None) -> str:
    name = (file[1] or file[2]) if file else ""
    return f", such as `{stored(name, _MAX_COMMAND)}`" if name and "`" not in name else ""


def _do(best: Correction) -> str:
    said = stored(WORDS["insult"].sub("", best.reaction.said), 300).rstrip(" .…!")
    if best.was_left_out:
        return f"Run `{best.then}` before saying that it is done. The person had to ask: “{said}”."
    if best.reaction.topic == READ_WHOLE:
        return f"Read the whole file before you work with it. The person said: “{said}”."
    if said.lower().startswith("why "):
        return f"Avoid what the person complained of: “{said}”."
    return f"Keep to what the person said: “{said}”."


def _scope(execution: Execution, best: Correction) -> str:
    """Where a wish holds: in its project, unless it was said of all."""
    project = stored(execution.project_name, 60)
    if not project or WORDS["everywhere"].search(in_english(best.reaction.said)):
        return "It holds everywhere."
    return f"It holds in {project}."


def _why(best: Correction, same: Sequence[Correction]) -> str:
    day = f" on {best.at:%Y-%m-%d}" if best.at else ""
    often = f", {len(same)} times in that session" if len(same) > 1 else ""
    after = f", after the agent {best.after}" if best.after else ""
    said = "asked" if best.was_left_out else "said so"
    return f"A person {said}{day}{often}{after}."


def _name(title: str) -> str:
    """Two to five telling words of the title, in the person's order."""
    plain = unicodedata.normalize("NFKD", re.sub("['\u2019]", "", title.lower()))
    plain = re.sub("[\u0300-\u036f]", "", plain)
    words = re.findall(r"[a-z0-9]+", plain)
    if len(words) > 2 and words[0] in _FORBIDS and WORDS["light"].fullmatch(words[1]):
        words = words[2:]
    for small in ("fillers", "articles", "prepositions"):
        if len(words) > _MAX_NAME_WORDS:
            words = [word for word in words if not WORDS[small].fullmatch(word)]
    words = words[:_MAX_NAME_WORDS]
    while words and WORDS["small"].fullmatch(words[-1]):
        words.pop()
    if len(words) < 2:  # most of it is in another script
        words = ["a", "person", "said", *words, sha256(title.encode()).hexdigest()[:6]]
    return "-".join(words)[:64].strip("-")
