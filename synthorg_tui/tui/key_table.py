"""What each key means in every pane, and which command does the same without a screen.

One key has one meaning, so that a hand that learnt a pane knows the others. A key that must mean
something else in a dialog is listed with the reason. ``docs/keys.md`` is made from this and from
the registry in ``actions``; a test holds the registry to it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from synthorg_tui.tui.fine_tune import TUNING_COMMANDS
from synthorg_tui.tui.models import MODEL_COMMANDS
from synthorg_tui.tui.organisation import ORG_COMMANDS
from synthorg_tui.tui.overview import OVERVIEW_COMMANDS
from synthorg_tui.tui.runs import RUN_COMMANDS


class KeyMeaning(NamedTuple):
    """One or more keys with their meaning, and the verbs of the actions that may have them.

    ``keys`` are Textual key names, comma-separated; a verb is the part of an action's id behind
    the dot.
    """

    keys: str
    meaning: str
    verbs: str


CONTEXTS: Final[Mapping[str, str]] = {
    "app": "Everywhere",
    "memories": "Memories",
    "digest": "Digest",
    "knobs": "Options of the digest",
    "choose": "Choosing",
    "scenarios": "Scenarios",
    "skills": "Skills",
    "approvals": "Approvals",
    "activity": "Activity",
    "sessions": "Sessions",
    "organisation": "Organisation",
    "slider": "Slider over time",
    "deleting": "Deleting a session",
    "review": "Review",
    "lesson": "Rewording a lesson",
    "parts": "Choosing parts",
    "list": "Moving in a list",
    "view": "Moving in a text",
    "source": "Transcript",
    "deleted": "Deleted and expired",
    "versions": "Versions of a memory",
    "importing": "Import",
    "welcome": "First run",
    "doctor": "Doctor",
    "backups": "Backups",
    "jobs": "Jobs",
    "overview": "Overview",
    "calendar": "Calendar of the overview",
    "projects": "Projects",
    "project": "Page of a project",
    "consolidation": "Consolidation",
    "connecting": "Connecting agents",
    "agents": "Agents",
    "settings": "Settings",
    "runs": "Runs",
    "models": "Models",
    "tuning": "Fine-tune",
    "form": "Writing a memory",
    "confirm": "Confirming",
}
"""Titles of the contexts in the help, by context."""

MEANINGS: Final[tuple[KeyMeaning, ...]] = (
    KeyMeaning("question_mark,f1", "the keys of this screen", "help"),
    KeyMeaning("ctrl+p", "any action by name", "command_palette"),
    KeyMeaning("ctrl+t", "theme", "change_theme"),
    KeyMeaning("ctrl+z", "to the shell", "suspend_process"),
    KeyMeaning("f2", "connect an agent", "connect"),
    KeyMeaning("f3", "import a path", "import_path"),
    KeyMeaning("f4", "doctor", "doctor"),
    KeyMeaning("f6", "backups", "backups"),
    KeyMeaning("f7", "settings", "settings"),
    KeyMeaning("f8", "scenarios, from any pane", "scenarios"),
    KeyMeaning("f9", "jobs", "jobs"),
    KeyMeaning("f10", "plans of consolidation", "consolidation"),
    KeyMeaning("f12", "embedding models", "models"),
    KeyMeaning("q,ctrl+q", "quit", "quit"),
    KeyMeaning("T", "trail of decisions", "trail"),
    KeyMeaning("1", "Memories", "memories"),
    KeyMeaning("2", "Digest", "digest"),
    KeyMeaning("3", "Skills", "skills"),
    KeyMeaning("4", "Approvals", "approvals"),
    KeyMeaning("5", "Activity", "activity"),
    KeyMeaning("6", "Sessions", "sessions"),
    KeyMeaning("7", "Projects", "projects"),
    KeyMeaning("8", "Organisation", "organisation"),
    KeyMeaning("9", "Agents", "agents"),
    KeyMeaning("ampersand", "Runs", "runs"),
    KeyMeaning("number_sign", "fine-tuning", "fine_tune"),
    KeyMeaning("0", "Overview", "overview"),
    KeyMeaning("tab", "next part of the screen", "next_part"),
    KeyMeaning("slash", "write into the entry: filter, task or find", "filter task search"),
    KeyMeaning("a", "take in: add, approve, accept", "add approve accept create"),
    KeyMeaning("A", "take in all that was reviewed", "approve_reviewed"),
    KeyMeaning("b", "budget", "budget"),
    KeyMeaning("c", "changes, or the text again", "diff changes"),
    KeyMeaning("C", "changes from here on", "compare"),
    KeyMeaning("d", "delete", "delete"),
    KeyMeaning("e", "edit", "edit reword rename"),
    KeyMeaning("E", "edit in $EDITOR", "edit edit_outside reword_outside"),
    KeyMeaning("f", "choose fields and steps", "parts"),
    KeyMeaning("F", "next failure", "failure"),
    KeyMeaning("H", "history: versions of a memory, changes of settings", "versions"),
    KeyMeaning("i", "import", "importing start"),
    KeyMeaning("K", "what is known of the project", "known"),
    KeyMeaning("J", "join: make two one", "merge"),
    KeyMeaning("l", "load the sample", "sample"),
    KeyMeaning("L", "to the lines referred to", "jump"),
    KeyMeaning("m", "to the memory; the model's words", "memory memories"),
    KeyMeaning("M", "mute: no hints about it", "silence"),
    KeyMeaning("n", "next: item, problem, change, match", "next problem next_change next_match"),
    KeyMeaning("N", "the one before", "previous previous_problem previous_change previous_match"),
    KeyMeaning("o", "next order", "sort"),
    KeyMeaning("O", "options", "options"),
    KeyMeaning("p", "source: the transcript lines", "source"),
    KeyMeaning("P", "pause an agent", "pause"),
    KeyMeaning("W", "refuse an agent's writes", "read_only"),
    KeyMeaning("r,f5", "again: read, ask, run", "reload run again"),
    KeyMeaning("ctrl+r", "redo", "redo"),
    KeyMeaning("R", "put back how it was", "reset restore repair revive"),
    KeyMeaning("s", "search", "search"),
    KeyMeaning("S", "scenarios", "scenarios"),
    KeyMeaning("ctrl+s", "save: a form, a question, a file", "save export"),
    KeyMeaning("t", "groups: of rows, of what is the same", "facets group"),
    KeyMeaning("u", "undo", "undo restore"),
    KeyMeaning("U", "what was deleted", "deleted"),
    KeyMeaning("v", "next view of the same", "view raw"),
    KeyMeaning("V", "mark a range", "mark_range"),
    KeyMeaning("space", "mark, choose or unfold", "mark pin fold unfold"),
    KeyMeaning("asterisk", "mark all", "mark_all"),
    KeyMeaning("w", "wait: snooze", "snooze"),
    KeyMeaning("percent_sign", "figures: whether it helps", "evaluate"),
    KeyMeaning("x", "leave out: exclude, reject, archive", "exclude reject archive retract split"),
    KeyMeaning("X", "end for good, after asking", "retire disconnect purge"),
    KeyMeaning("delete", "take away, as d or X does", "delete retire disconnect"),
    KeyMeaning("backspace", "back to what was proposed", "drop configured"),
    KeyMeaning("y", "copy", "copy"),
    KeyMeaning("z", "zoom: all of it", "zoom unfold_all"),
    KeyMeaning("at", "agent: as whom, for whom", "agent only publish scope"),
    KeyMeaning("exclamation_mark", "check", "check"),
    KeyMeaning("plus,equals_sign", "more", "more"),
    KeyMeaning("minus", "less", "less"),
    KeyMeaning("left_square_bracket", "the older one", "older evidence_before"),
    KeyMeaning("right_square_bracket", "the newer one, the next one", "newer evidence"),
    KeyMeaning("left_curly_bracket", "a day earlier", "day_earlier"),
    KeyMeaning("right_curly_bracket", "a day later", "day_later"),
    KeyMeaning("left_parenthesis", "a week earlier", "week_earlier"),
    KeyMeaning("right_parenthesis", "a week later", "week_later"),
    KeyMeaning("less_than_sign", "less room for the list", "narrower"),
    KeyMeaning("greater_than_sign", "more room for the list", "wider"),
    KeyMeaning("escape", "back, deciding nothing", "back close no end_search"),
    KeyMeaning("enter", "open, unfold or choose", "choose review read unfold start restore"),
    KeyMeaning("j,down", "down", "down"),
    KeyMeaning("k,up", "up", "up"),
    KeyMeaning("g,home", "to the first", "first"),
    KeyMeaning("G,end", "to the last", "last"),
    KeyMeaning("ctrl+d", "half a page down", "half_down"),
    KeyMeaning("ctrl+u", "half a page up", "half_up"),
    KeyMeaning("pagedown,ctrl+f", "a page down", "page_down half_down"),
    KeyMeaning("pageup,ctrl+b", "a page up", "page_up half_up"),
    KeyMeaning("left,h", "the value before", "previous"),
    KeyMeaning("right", "the value behind", "next"),
)  # fmt: skip
"""The keys in every pane, each in one row."""

_QUESTION: Final = "a question has two answers, and those keys are written on its buttons"
_VALUE: Final = "the arrows and their letters turn the value under the cursor, in this list only"
_STOPS: Final = "what runs is stopped; there are no changes to show"
_TOGGLE: Final = "the key that opened the screen closes it"
_STOPPING: Final = (
    "backups", "consolidation", "deleted", "doctor", "importing", "jobs", "project", "projects",
    "models", "runs", "tuning",
)  # fmt: skip
EXCEPTIONS: Final[Mapping[tuple[str, str], str]] = {
    **{(f"{each}.cancel", "c"): _STOPS for each in _STOPPING},
    ("confirm.yes", "y"): _QUESTION,
    ("confirm.no", "n"): _QUESTION,
    ("deleting.yes", "y"): _QUESTION,
    ("deleting.keep", "k"): _QUESTION,
    ("deleting.no", "n"): _QUESTION,
    ("confirm.no", "enter"): "Enter that comes too early changes nothing",
    ("knobs.next", "l"): _VALUE,
    ("knobs.next", "space"): _VALUE,
    ("knobs.next", "enter"): _VALUE,
    ("parts.next", "l"): _VALUE,
    ("parts.next", "space"): _VALUE,
    ("parts.next", "enter"): _VALUE,
    ("source.close", "p"): _TOGGLE,
    ("scenarios.close", "S"): _TOGGLE,
    ("deleted.close", "U"): _TOGGLE,
    ("versions.close", "H"): _TOGGLE,
    ("consolidation.close", "f10"): _TOGGLE,
    ("runs.close", "ampersand"): _TOGGLE,
    ("tuning.close", "number_sign"): _TOGGLE,
    ("connecting.scope", "s"): "nothing is searched here; s is the first letter of what it turns",
    ("connecting.hooks", "h"): "no value is turned by arrows here; h is the first letter",
    ("welcome.close", "e"): "the first run has nothing to edit: e starts with an empty store",
}
"""Actions with a key whose meaning is another here, and why."""

NEEDS_ROW: Final[Mapping[str, str]] = {
    "memories": "mark mark_range mark_all edit edit_outside delete archive restore publish versions"
    " source known copy export zoom",
    "digest": "pin exclude memory group source edit diff next_change previous_change compare copy"
    " save zoom",
    "skills": "edit check problem previous_problem accept restore changes older newer source"
    " memory evaluate copy retire view zoom",
    "approvals": "review mark mark_all approve_reviewed edit_outside snooze memory zoom",
    "activity": "pause read_only disconnect undo silence memory view only copy zoom",
    "organisation": "edit edit_outside retract revive memory source known changes copy zoom",
    "scenarios": "run accept delete",
    "deleted": "mark mark_range mark_all restore purge",
}
"""Verbs of a pane that act on a row; where it lists none, its footer doesn't offer them."""

_CLIPBOARD: Final = "the terminal's clipboard"
_MARKING: Final = "chooses what the next key acts on"
_MOVING: Final = "moves what is shown"
_LAYOUT: Final = "divides the screen"
_FIELDS: Final = "a wording is read beside its evidence before it is approved"
COMMANDS: Final[Mapping[str, str]] = {
    "app.help": "--help",
    "app.trail": "proposals trail",
    "memories.filter": "memories list",
    "memories.search": "search",
    "memories.add": "memories add",
    "memories.edit": "memories edit",
    "memories.edit_outside": "memories edit",
    "memories.delete": "memories delete",
    "memories.archive": "archive add",
    "memories.restore": "archive restore",
    "memories.publish": "memories publish",
    "memories.undo": "memories undo",
    "memories.redo": "memories redo",
    "memories.deleted": "memories list",
    "memories.versions": "memories history",
    "memories.source": "memories show",
    "memories.export": "memories list",
    "memories.sort": "memories list",
    "memories.importing": "import",
    "memories.reload": "memories list",
    "digest.task": "digest",
    "digest.agent": "digest",
    "digest.budget": "digest",
    "digest.more": "digest",
    "digest.less": "digest",
    "digest.options": "digest",
    "digest.reset": "digest",
    "digest.pin": "digest",
    "digest.exclude": "digest",
    "digest.memory": "memories show",
    "digest.group": "digest",
    "digest.source": "memories show",
    "digest.edit": "memories edit",
    "digest.save": "scenarios save",
    "digest.scenarios": "scenarios list",
    "digest.reload": "digest",
    "scenarios.run": "scenarios run",
    "scenarios.accept": "scenarios save",
    "scenarios.delete": "scenarios delete",
    "sessions.filter": "sessions list",
    "sessions.read": "sessions show",
    "sessions.memories": "memories list",
    "sessions.copy": "sessions resume",
    "sessions.export": "sessions export",
    "sessions.delete": "sessions delete",
    "sessions.importing": "import",
    "sessions.reload": "sessions list",
    "skills.filter": "skills list",
    "skills.edit": "skills sync",
    "skills.check": "skills validate",
    "skills.accept": "skills review",
    "skills.restore": "skills restore",
    "skills.changes": "skills show",
    "skills.older": "skills show",
    "skills.newer": "skills show",
    "skills.source": "skills show",
    "skills.memory": "memories show",
    "skills.retire": "skills retire",
    "skills.undo": "proposals undo",
    "skills.view": "skills show",
    "skills.evaluate": "skills eval",
    "skills.reload": "skills sync",
    "approvals.filter": "proposals list",
    "approvals.review": "proposals show",
    "approvals.approve_reviewed": "proposals approve",
    "approvals.edit_outside": "proposals edit",
    "approvals.snooze": "proposals snooze",
    "approvals.undo": "proposals undo",
    "approvals.view": "proposals list",
    "approvals.memory": "memories show",
    "approvals.reload": "proposals list",
    "activity.filter": "agents calls",
    "activity.pause": "agents pause",
    "activity.read_only": "agents read-only",
    "activity.disconnect": "agents disconnect",
    "activity.undo": "agents undo",
    "activity.silence": "hints silence",
    "activity.memory": "memories show",
    "activity.view": "agents calls",
    "activity.only": "agents calls",
    "activity.reload": "agents calls",
    "review.approve": "proposals approve",
    "review.reject": "proposals reject",
    "review.scope": "proposals approve",
    "review.snooze": "proposals snooze",
    "review.source": "proposals show",
    "review.memory": "memories show",
    "review.undo": "proposals undo",
    "review.evaluate": "skills eval",
    "review.reload": "proposals show",
    "deleted.filter": "memories list",
    "deleted.restore": "memories restore",
    "deleted.purge": "memories purge",
    "versions.restore": "memories restore-version",
    "versions.undo": "memories undo",
    "importing.start": "import",
    "importing.sample": "demo",
    "welcome.importing": "import",
    "welcome.sample": "demo",
    "form.save": "memories add",
    "source.unfold": "sessions show",
    "source.unfold_all": "sessions show",
    "source.raw": "sessions show",
    "app.connect": "connect",
    "app.import_path": "import",
    "app.doctor": "doctor",
    "app.backups": "backup",
    "app.settings": "config explain",
    "app.scenarios": "scenarios list",
    "doctor.again": "doctor", "doctor.repair": "doctor",
    "backups.create": "backup", "backups.restore": "restore",
    "app.jobs": "jobs list",
    "jobs.run": "jobs run", "jobs.cancel": "jobs cancel",
    "jobs.read": "jobs log",
    "app.projects": "projects list",
    "memories.known": "projects show",
    "sessions.known": "projects show",
    "projects.read": "projects show",
    "projects.reload": "projects refresh",
    "projects.export": "projects show",
    "projects.merge": "projects merge", "projects.split": "projects split",
    "projects.rename": "projects rename", "projects.undo": "projects undo",
    "project.read": "sessions show",
    "project.edit": "memories edit",
    "project.delete": "memories delete",
    "project.undo": "memories undo",
    "project.export": "projects show",
    "project.reload": "projects refresh",
    "app.consolidation": "consolidate list",
    "consolidation.run": "consolidate plan",
    "consolidation.approve": "consolidate apply",
    "consolidation.reject": "consolidate drop",
    "consolidation.undo": "consolidate undo",
    "consolidation.unfold": "consolidate show",
    "connecting.approve": "connect",
    "connecting.disconnect": "disconnect",
    "connecting.scope": "connect",
    "connecting.hooks": "connect",
    "app.agents": "agents show",
    "agents.edit": "config path",
    "agents.pause": "agents pause", "agents.read_only": "agents read-only",
    "agents.memories": "memories list",
    "agents.reload": "agents show",
    "settings.filter": "config explain",
    "settings.edit": "config path", "settings.reset": "config unset",
    "settings.undo": "config undo", "settings.redo": "config redo",
    "settings.versions": "config changes",
    "settings.check": "config check",
    **ORG_COMMANDS,
    **RUN_COMMANDS,
    **TUNING_COMMANDS,
    **OVERVIEW_COMMANDS,
    **MODEL_COMMANDS,
}  # fmt: skip
"""The command that does without a screen what an action does, by the action's id."""

SCREEN_ONLY: Final[Mapping[str, str]] = {
    "back": _MOVING, "close": _MOVING, "view": _MOVING, "next": _MOVING, "previous": _MOVING,
    "zoom": _LAYOUT, "narrower": _LAYOUT, "wider": _LAYOUT, "facets": _LAYOUT, "group": _LAYOUT,
    "sort": "orders the rows on the screen",
    "copy": _CLIPBOARD,
    "mark": _MARKING, "mark_all": _MARKING, "mark_range": _MARKING,
    "problem": _MOVING, "previous_problem": _MOVING, "jump": _MOVING,
    "next_change": _MOVING, "previous_change": _MOVING,
    "evidence": _MOVING, "evidence_before": _MOVING,
    "diff": "two digests that were printed are compared with diff",
    "compare": "two digests that were printed are compared with diff",
    "reword": _FIELDS, "reword_outside": _FIELDS, "parts": _FIELDS, "drop": _FIELDS,
    "failure": _MOVING, "fold": _MOVING, "suspend_process": "the shell does it to a command",
    "command_palette": "finds what is on the screen",
    "change_theme": "colours of the screen", "quit": "ends the screen", "next_part": _MOVING,
    "cancel": "Ctrl-C stops a command",
}  # fmt: skip
"""Why an action has no command, by its verb."""

SCREEN_ONLY_CONTEXTS: Final[Mapping[str, str]] = {
    "list": _MOVING,
    "view": _MOVING,
    "slider": _MOVING,
    "calendar": _MOVING,
    "knobs": "digest takes a value as --set",
    "choose": "a command takes the choice as an argument",
    "parts": _FIELDS,
    "lesson": _FIELDS,
    "confirm": "a command that needs one asks at the terminal",
    "deleting": "a command that needs one asks at the terminal",
}
"""Why no action of a context has a command."""


def without_screen(context: str, verb: str) -> tuple[str, str]:
    """Return the command that does the same as an action, and why there is none; one is empty.

    Both are empty for an action that nobody has named here yet.
    """
    command = COMMANDS.get(f"{context}.{verb}", "")
    if command:
        return command, ""
    is_pane = context == "app" and verb not in SCREEN_ONLY
    reason = SCREEN_ONLY_CONTEXTS.get(context) or SCREEN_ONLY.get(verb, "")
    return "", reason or (_MOVING if is_pane else "")


def meaning_rows() -> list[str]:
    """Return the Markdown rows of keys with one meaning, and of those with another in one place."""
    rows = ["| Keys | Meaning in every pane |", "|---|---|"]
    rows += [f"| {keys_code(each.keys)} | {each.meaning} |" for each in MEANINGS]
    rows += ["", "Elsewhere:", "", "| Key | Of | Because |", "|---|---|---|"]
    return [
        *rows,
        *(f"| `{key}` | `{owner}` | {why} |" for (owner, key), why in EXCEPTIONS.items()),
    ]


def keys_code(keys: str) -> str:
    """Return comma-separated keys as Markdown code."""
    return " ".join(f"`{key}`" for key in keys.split(","))
