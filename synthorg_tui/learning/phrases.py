"""The words of a grounded lesson: commands and errors as they hold for the next time.

Phrases of a memory, about one run as it was, are in ``ingest.extract.phrases``; here names of the
run become placeholders. Errors so written are part of a lesson's key, and approved skills hold the
rest: other words would make the same mistake another lesson.
"""

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePosixPath

from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.recoveries import MESSAGE_FLAGS
from synthorg_tui.learning.mistakes import Mistake

_MAX_COMMAND = 160
_NOUNS = (
    "branch|remote|tag|commit|file|path|directory|folder|container|image|user|host|port|project"
    "|repository|workspace|profile|cluster|namespace|database|device|version"
)
_NAMED = re.compile(rf"\b({_NOUNS})s?:? ['\"`]?([^\s'\"`:,;]+)", re.IGNORECASE)
_SPEAKING = re.compile(r"git|gh|glab|hg|jj|svn")
_PATH = re.compile(
    r".*/.*|[\w.-]+\.(?:pyi?|[cm]?[jt]sx?|go|rs|exs?|rb|java|kt|c|h|cc|[ch]pp|cs|swift|md|txt"
    r"|jsonl?|ya?ml|toml|sh|sql|s?css|html?|lock|cfg|ini|csv|xml|svg|png|log|diff|patch|gz"
    r"|zip|ipynb|proto|gradle|dart|php|lua|vue|svelte|tf|env)"
)
_KINDS = (
    (re.compile(r"https?://.*"), "url"),
    (re.compile(r"[^\s@/]+@[^\s@/]+\.\w+"), "email"),
    (re.compile(r"s(\W).*\1.*\1\w*"), "script"),
    (_PATH, "path"),
)
"""What a word is an example of, when the lesson isn't about that word."""
_PLACEHOLDER = re.compile(r"<([a-z]+)>")
_MEANING = {
    "branch": "the name of the branch you are on",
    "path": "the path or paths you mean",
    "file": "the file you mean",
    "link": "the symbolic link that the error is about",
    "message": "your message",
    "text": "your text",
    "url": "the address in question",
    "email": "your e-mail address",
    "script": "your edit script",
    "package": "the package in question",
}
_NESTED = re.compile(
    r"(?:npm|pnpm|yarn|bun) run|(?:gh|glab|aws|az|gcloud|podman|heroku|fly|uv|kubectl"
    r"|systemctl|docker (?:compose|image|network|volume|container)|brew services) ?[a-z-]*"
)
_INSTALL = re.compile(
    r"(?:pip3?|npm|pnpm|yarn|bun|uv|poetry|gem|brew|apt|apt-get|cargo|pipx|conda)"
    r" (?:install|i|add|get)"
)


def name_of(step: Step) -> str:
    """Return a program with its subcommands: ``gh pr create``, ``npm run build``."""
    if step.words[0].startswith("."):
        return step.words[0]
    words = [step.intent]
    if _NESTED.fullmatch(step.intent):
        place = step.words.index(step.intent.split()[-1]) + 1
        following = step.words[place : place + 1]
        words += [word for word in following if re.fullmatch(r"[a-z][\w:-]*", word)]
    return " ".join(words)


def is_path(word: str) -> bool:
    """Whether a word of a command is a path or the name of a file."""
    return _PATH.fullmatch(word) is not None


def clean(text: str, limit: int) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, without hidden characters."""
    return safe_text(one_line(text, limit))


class Phrases:
    """Words the parts of one mistake, with placeholders for what differs from time to time."""

    def __init__(self, execution: Execution, mistake: Mistake) -> None:
        self._mistake = mistake
        self._execution = execution
        self._values = _values(execution, mistake)
        self._called = (mistake.step.words, mistake.worked.words)

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names that only this run had, such as its branch and its project."""
        return (*self._values, self._execution.project or "")

    def general(self, text: str, limit: int) -> str:
        """Return ``text`` with placeholders for the run's own names and with relative paths.

        It is cut to ``limit`` characters.
        """
        if self._execution.project:
            text = self._execution.relative(text).replace(self._execution.project, ".")
        text = re.sub(r"(?<![\w.])/(?:home|Users)/[^/\s'\"]+", "~", text)
        for value, name in self._values.items():
            text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", f"<{name}>", text)
        return clean(text, limit)

    @property
    def error(self) -> str:
        """The most informative line of the error, with ``<path>`` for the command's paths."""
        text = self._mistake.error.line
        for word in sorted(self._mistake.step.words[1:], key=len, reverse=True):
            if "/" in word:
                text = text.replace(word, "<path>")
        return self.general(text, 160)

    def command(self, step: Step) -> str:
        """Return a step as one would type it, with placeholders for paths and messages.

        Words that make the difference between failure and success stay as they are, and so does
        what had to be run first.
        """
        change = self._mistake.change
        changed = {*change.dropped, *change.added, *change.lead_added, *change.lead_dropped}
        if step.words not in self._called:
            changed |= {*step.words}
        words: list[str] = []
        message = False
        for place, word in enumerate(step.words):
            shown = self._word(step, place, message=message, keep=word in changed)
            message = word in MESSAGE_FLAGS and _SPEAKING.fullmatch(step.words[0]) is not None
            if not (shown == "<path>" and words and words[-1] == "<path>"):
                words.append(shown)
        lead = [self.general(_quoted(word), 80) for word in step.lead]
        return clean(" ".join([*lead, *words]), _MAX_COMMAND)

    def _word(self, step: Step, place: int, *, message: bool, keep: bool) -> str:
        word = step.words[place]
        if message:
            return "<message>"
        if keep and self._mistake.change.prefix:
            return self.path(word)
        if place == 0 or keep or word.startswith("-"):
            return self.general(_quoted(word), 120)
        if place > 1 and step.words in self._called and _INSTALL.fullmatch(step.intent):
            return "<package>"
        is_script = place == 1 and PurePosixPath(word).name in step.intent.split()
        for pattern, name in _KINDS:
            if pattern.fullmatch(word) and not is_script:
                return f"<{name}>"
        return "<text>" if len(word) > 60 or " " in word or "\n" in word else self._plain(word)

    def _plain(self, word: str) -> str:
        return self.general(_quoted(word), 80)

    def path(self, word: str) -> str:
        """Return a path with ``<file>`` in place of its file name."""
        parts = PurePosixPath(self.general(word, 160))
        parent = "" if str(parts.parent) == "." else f"{parts.parent}/"
        return f"{parent}<file>" if parts.suffix else str(parts)


def _quoted(word: str) -> str:
    """Quoted for a shell only where it must be."""
    return word if re.fullmatch(r"[\w@%+=:,./<>~^*{}\[\]-]+", word) else shlex.quote(word)


def _values(execution: Execution, mistake: Mistake) -> dict[str, str]:
    """Names that were this run's own, each with what it is the name of; the longest first."""
    values: dict[str, str] = {}
    if execution.branch:
        values[execution.branch] = "branch"
    added = {part for word in mistake.change.added for part in (word, word.rpartition("/")[2])}
    for noun, value in _NAMED.findall(mistake.error.line):
        if value in added and not value.startswith("-"):
            values.setdefault(value, noun.lower())
    return dict(sorted(values.items(), key=lambda item: -len(item[0])))


def explained(text: str) -> str:
    """Return a clause that explains the placeholders in a text; empty when it has none."""
    names = dict.fromkeys(_PLACEHOLDER.findall(text))
    known = [f"`<{name}>` is {_MEANING.get(name, f'the {name} in question')}" for name in names]
    return joined(known)


def joined(parts: Iterable[str], last: str = "and") -> str:
    """Join non-empty parts as in prose: ``a``, ``a and b``, ``a, b and c``.

    ``last`` replaces ``and``; any other word gets a comma before it: ``a, then b``.
    """
    *others, end = [part for part in parts if part] or [""]
    between = ", " if last != "and" else " "
    return f"{', '.join(others)}{between}{last} {end}" if others else end
