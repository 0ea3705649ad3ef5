"""The registry of all actions a key can start; bindings, footer, palette, help and docs read it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.binding import Binding, BindingType
from textual.keys import format_key
from textual.widget import Widget
from textual.widgets import Input, TextArea

from synthorg_tui.tui.panes import PANES

FOOTER_KEYS = 8
"""Maximum number of keys in a footer, so that it fits 80 columns."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action that a key can start, with its keys and its texts.

    ``id`` is ``<context>.<action method>``; ``keys`` are Textual key names, comma-separated;
    ``shown`` is how the key is written for people; ``footer`` lists it in the footer. An action
    with ``opens_entry`` runs before the next key is handled, so that whoever types on at once
    writes into the entry it opens. ``does`` is the Textual action if that is not the method named
    in the id.
    """

    id: str
    keys: str
    shown: str
    label: str
    help: str
    footer: bool = False
    palette: bool = True
    opens_entry: bool = False
    does: str = ""

    @property
    def context(self) -> str:
        """The part of the id before the dot: the screen or widget where the action is available."""
        return self.id.partition(".")[0]

    @property
    def method(self) -> str:
        """The Textual action to run, without the prefix ``action_``."""
        return self.does or self.id.partition(".")[2]

    def key(self, keymap: Mapping[str, str]) -> str:
        """Return the label of the action's first key.

        ``keymap`` maps action ids to the keys a person chose instead of the default ones.
        """
        keys = keymap.get(self.id)
        return format_key(keys.split(",")[0].strip()).replace("ctrl+", "^") if keys else self.shown


CONTEXTS = {
    "app": "Everywhere",
    "memories": "Memories",
    "digest": "Digest",
    "knobs": "Options of the digest",
    "choose": "Choosing",
    "scenarios": "Scenarios",
    "skills": "Skills",
    "approvals": "Approvals",
    "activity": "Activity",
    "review": "Review",
    "lesson": "Rewording a lesson",
    "parts": "Taking a part",
    "list": "Moving in a list",
    "view": "Moving in a text",
    "source": "Transcript lines",
    "deleted": "Deleted and expired",
    "importing": "Import",
    "welcome": "First run",
    "form": "Writing a memory",
    "confirm": "Confirming",
}
"""Titles of the contexts in the help, by context."""


def _list_action(method: str, keys: str, shown: str, label: str, help_text: str) -> Action:
    return Action(f"list.{method}", keys, shown, label, help_text, palette=False)


def _pane(name: str, title: str, key: str) -> Action:
    return Action(
        f"app.{name}", key, key, title, f"Go to the {title} pane", does=f"switch_mode('{name}')"
    )


ACTIONS: tuple[Action, ...] = (
    Action("app.help", "question_mark,f1", "?", "Help", "Show the keys of this screen", True),
    Action("app.command_palette", "ctrl+p", "^p", "Palette", "Find any action by name", False, False),
    Action("app.change_theme", "ctrl+t", "^t", "Theme", "Choose a theme, with a live preview"),
    Action("app.quit", "q,ctrl+q", "q", "Quit", "Leave; everything is already saved"),
    Action("app.trail", "T", "T", "Trail", "List what was decided, adopted or refused, also while the app was closed"),
    *(_pane(*pane) for pane in PANES),
    Action("app.next_part", "tab", "tab", "Next part", "To the next part of the screen; shift+tab to the one before", palette=False, does="focus_next"),
    Action("memories.filter", "slash", "/", "Filter", "Filter as you type: words, -words, agent: cat: tag: since:", True, opens_entry=True),
    Action("memories.search", "s", "s", "Search", "Search by meaning and by words", True, opens_entry=True),
    Action("memories.mark", "space", "␣", "Mark", "Mark or unmark the memory under the cursor", True),
    Action("memories.mark_range", "v", "v", "Range", "Start a range; again to mark all up to the cursor"),
    Action("memories.mark_all", "asterisk", "*", "Mark all", "Mark every memory the view lists, or none"),
    Action("memories.add", "a", "a", "Add", "Write a new memory", True),
    Action("memories.edit", "e", "e", "Edit", "Edit the memory in a form", True),
    Action("memories.edit_outside", "E", "E", "Editor", "Edit the content in $EDITOR"),
    Action("memories.delete", "d,delete", "d", "Delete", "Delete the marked memories, or the one under the cursor", True),
    Action("memories.undo", "u", "u", "Undo", "Undo your last change, also one of an earlier run"),
    Action("memories.redo", "ctrl+r", "^r", "Redo", "Make the change again that was undone last"),
    Action("memories.deleted", "U", "U", "Deleted", "List what was deleted, to restore or erase it"),
    Action("memories.source", "p", "p", "Source", "Show the transcript lines the memory came from", True),
    Action("memories.copy", "y", "y", "Copy", "Copy the content of the marked memories, or of this one"),
    Action("memories.export", "x", "x", "Export", "Write the marked memories, or all in view, to a file"),
    Action("memories.sort", "o", "o", "Sort", "Next order: newest, oldest, agent, category, confidence"),
    Action("memories.importing", "i", "i", "Import", "Import transcripts of coding agents"),
    Action("memories.facets", "t", "t", "Groups", "Show or hide agents and categories"),
    Action("memories.zoom", "z", "z", "Zoom", "Give the detail the whole screen, and back"),
    Action("memories.narrower", "left_square_bracket", "[", "Smaller", "Less room for the list", does="resize(-5)"),
    Action("memories.wider", "right_square_bracket", "]", "Larger", "More room for the list", does="resize(5)"),
    Action("memories.reload", "r,f5", "r", "Reload", "Read the store again"),
    Action("memories.back", "escape", "esc", "Back", "Close the zoom, the search, then the filter", False, False),
    Action("digest.task", "slash,t", "/", "Task", "Write what the agent is about to do; answers as you type", True, opens_entry=True),
    Action("digest.agent", "a", "a", "Agent", "Choose as which agent to ask", True),
    Action("digest.budget", "b", "b", "Budget", "Set how many tokens the memories may take", True),
    Action("digest.more", "plus,equals_sign", "+", "More", "Raise the budget"),
    Action("digest.less", "minus", "-", "Less", "Lower the budget"),
    Action("digest.options", "o", "o", "Options", "Strategy, fusion, weights, diversity and more", True),
    Action("digest.reset", "R", "R", "Reset", "Options as configured, nothing pinned or excluded"),
    Action("digest.pin", "p", "p", "Pin", "Put the memory in whatever its score, or let it go", True),
    Action("digest.exclude", "x", "x", "Exclude", "Keep the memory out, or let it in again", True),
    Action("digest.memory", "m", "m", "Memory", "Show the memory in the Memories pane"),
    Action("digest.edit", "e", "e", "Edit", "Edit the memory and see what that changes"),
    Action("digest.diff", "d", "d", "Changes", "Show what changed in the text, or the text again"),
    Action("digest.compare", "D", "D", "From here", "Show later changes against the present text"),
    Action("digest.copy", "y", "y", "Copy", "Copy exactly what the agent would read", True),
    Action("digest.save", "s", "s", "Save", "Keep the question as a scenario"),
    Action("digest.scenarios", "S", "S", "Scenarios", "List the scenarios and ask them again"),
    Action("digest.zoom", "z", "z", "Zoom", "Give the list or the text the whole room, and back"),
    Action("digest.reload", "r,f5", "r", "Reload", "Ask again"),
    Action("digest.back", "escape", "esc", "Back", "Close the options, the zoom, then the changes", False, False),
    Action("knobs.previous", "left,h", "←", "Less", "One step down, or the choice before", palette=False),
    Action("knobs.next", "right,l,space,enter", "→", "More", "One step up, or the next choice", palette=False),
    Action("knobs.configured", "backspace", "⌫", "Back", "This option as configured", palette=False),
    Action("choose.close", "escape", "esc", "Cancel", "Leave things as they are", palette=False),
    Action("scenarios.run", "r", "r", "Run all", "Ask all scenarios again and compare", True),
    Action("scenarios.accept", "a", "a", "Accept", "Take what it gives now as what is expected", True),
    Action("scenarios.delete", "d,delete", "d", "Delete", "Forget the scenario", True),
    Action("scenarios.close", "escape,S", "esc", "Back", "Back to the digest", True),
    Action("skills.filter", "slash", "/", "Filter", "Filter as you type: words and -words in name, description, state", True, opens_entry=True),
    Action("skills.edit", "e", "e", "Editor", "Edit the file in $EDITOR; what changed is put up for review", True),
    Action("skills.check", "c", "c", "Check", "Read the file again and tell its problems", True),
    Action("skills.problem", "n", "n", "Problem", "Go to the next problem of the source"),
    Action("skills.accept", "a", "a", "Accept", "Review what changed or was found on disk, to take it over into memory", True),
    Action("skills.restore", "w", "w", "Write back", "Write our version back over the one on disk"),
    Action("skills.changes", "d", "d", "Changes", "Show what a version changed, or the source again", True),
    Action("skills.older", "left_square_bracket", "[", "Older", "The change before"),
    Action("skills.newer", "right_square_bracket", "]", "Newer", "The change after"),
    Action("skills.source", "p", "p", "Source", "Show the transcript lines that taught it; again for the next", True),
    Action("skills.retire", "X,delete", "X", "Retire", "Take the skill out of use, file and memory", True),
    Action("skills.undo", "u", "u", "Undo", "Take back the last decision, also one of an earlier run"),
    Action("skills.view", "v", "v", "View", "Show the source, what is known, or what changed"),
    Action("skills.zoom", "z", "z", "Zoom", "Give the skill the whole room, and back"),
    Action("skills.reload", "r,f5", "r", "Reload", "Look through the folders again"),
    Action("skills.back", "escape", "esc", "Back", "Close the zoom, the changes, then the filter", False, False),
    Action("approvals.filter", "slash", "/", "Filter", "Filter as you type: words, -words, kind: agent: scope: risk: is:flagged", True, opens_entry=True),
    Action("approvals.review", "R", "↵", "Review", "Open the item with all a decision stands on; enter does too", True),
    Action("approvals.mark", "space", "␣", "Mark", "Mark or unmark the item under the cursor", True),
    Action("approvals.mark_all", "asterisk", "*", "Mark all", "Mark every item the view lists, or none"),
    Action("approvals.approve_reviewed", "A", "A", "Approve", "Approve what you reviewed and is listed; marked ones only, if any are", True),
    Action("approvals.snooze", "s", "s", "Snooze", "Put the item out of the way for a while; a snoozed one waits again", True),
    Action("approvals.undo", "u", "u", "Undo", "Take back the last decision, also one of an earlier run", True),
    Action("approvals.view", "v", "v", "View", "What waits, is snoozed, was approved, was rejected", True),
    Action("approvals.sort", "o", "o", "Sort", "Next order: newest, oldest, confidence, recurrence, risk"),
    Action("approvals.group", "t", "t", "Group", "Group by kind, agent, scope, or not"),
    Action("approvals.zoom", "z", "z", "Zoom", "Give the item the whole room, and back"),
    Action("approvals.reload", "r,f5", "r", "Reload", "Read the queue again"),
    Action("approvals.back", "escape", "esc", "Back", "Close the zoom, then the filter", False, False),
    Action("activity.filter", "slash", "/", "Filter", "Filter as you type: words, -words, agent: client: kind: tool: is:error is:write", True, opens_entry=True),
    Action("activity.pause", "p", "p", "Pause", "Refuse everything to the agent, or let it go on", True),
    Action("activity.read_only", "o", "o", "Read-only", "Refuse writes to the agent, or let it write again", True),
    Action("activity.disconnect", "X,delete", "X", "Disconnect", "End the agent's connection; it may come back", True),
    Action("activity.undo", "u", "u", "Undo", "Take back what the call wrote, or bring it back", True),
    Action("activity.memory", "m", "m", "Memory", "Show a memory of the call in the Memories pane", True),
    Action("activity.skill", "s", "s", "Skill", "Show the skill that was read in the Skills pane"),
    Action("activity.view", "v", "v", "Why", "Show why the digest was so, or what the agent read", True),
    Action("activity.only", "a", "a", "Only", "List only the calls of this agent, or all again"),
    Action("activity.copy", "y", "y", "Copy", "Copy exactly what the agent read"),
    Action("activity.zoom", "z", "z", "Zoom", "Give the call the whole room, and back"),
    Action("activity.reload", "r,f5", "r", "Reload", "Read the log again"),
    Action("activity.back", "escape", "esc", "Back", "Close the zoom, the reasons, then the filter", False, False),
    Action("review.approve", "a", "a", "Approve", "Approve exactly what is shown", True),
    Action("review.reword", "e", "e", "Edit", "Reword it in a form, then approve it", True),
    Action("review.reword_outside", "E", "E", "Editor", "Reword it in $EDITOR, then approve it"),
    Action("review.parts", "c", "c", "Parts", "Choose whose text for each field and which steps", True),
    Action("review.drop", "backspace", "⌫", "Drop", "Drop your wording"),
    Action("review.reject", "x", "x", "Reject", "Reject with a reason; it is not proposed again", True),
    Action("review.snooze", "s", "s", "Snooze", "Put it out of the way for a while", True),
    Action("review.source", "p", "p", "Source", "Show the transcript lines of the chosen occurrence", True),
    Action("review.evidence", "o", "o", "Occurrence", "Choose the next recorded occurrence"),
    Action("review.next", "n", "n", "Next", "The next item of the list", True),
    Action("review.previous", "N", "N", "Previous", "The item before"),
    Action("review.copy", "y", "y", "Copy", "Copy what would be kept"),
    Action("review.undo", "u", "u", "Undo", "Take back the last decision"),
    Action("review.reload", "r,f5", "r", "Reload", "Read the item again"),
    Action("review.close", "escape", "esc", "Back", "Back, deciding nothing"),
    Action("lesson.save", "ctrl+s", "^s", "Take over", "Show this wording in the review, to approve it there", palette=False),
    Action("lesson.close", "escape", "esc", "Cancel", "Leave the wording as it was; asks once when changed", palette=False),
    Action("parts.previous", "left,h", "←", "Before", "The text before, of evidence, model and you", palette=False),
    Action("parts.next", "right,l,space,enter", "→", "Next", "The next text; keeps or drops a step", palette=False),
    Action("parts.reword", "e", "e", "Reword", "Write a field yourself", palette=False),
    Action("parts.save", "ctrl+s", "^s", "Take over", "Show these parts in the review, to approve them there", palette=False),
    Action("parts.close", "escape", "esc", "Cancel", "Leave the lesson as it is", palette=False),
    _list_action("down", "j,down", "j", "Down", "One down"),
    _list_action("up", "k,up", "k", "Up", "One up"),
    _list_action("first", "g,home", "g", "First", "To the first"),
    _list_action("last", "G,end", "G", "Last", "To the last"),
    _list_action("half_down", "ctrl+d", "^d", "Half down", "Half a page down"),
    _list_action("half_up", "ctrl+u", "^u", "Half up", "Half a page up"),
    _list_action("page_down", "pagedown,ctrl+f", "^f", "Page down", "A page down"),
    _list_action("page_up", "pageup,ctrl+b", "^b", "Page up", "A page up"),
    _list_action("choose", "enter", "↵", "Choose", "Open or choose what is under the cursor"),
    Action("view.down", "j,down", "j", "Down", "One line down", palette=False),
    Action("view.up", "k,up", "k", "Up", "One line up", palette=False),
    Action("view.first", "g,home", "g", "Top", "To the top", palette=False),
    Action("view.last", "G,end", "G", "End", "To the end", palette=False),
    Action("view.half_down", "ctrl+d,pagedown", "^d", "Half down", "Half a page down", palette=False),
    Action("view.half_up", "ctrl+u,pageup", "^u", "Half up", "Half a page up", palette=False),
    Action("source.close", "escape,p", "esc", "Back", "Back to where you were", True),
    Action("source.more", "plus,equals_sign", "+", "More", "Show more lines around", True),
    Action("source.raw", "v", "v", "As is", "Show the lines as they are in the file, or read out again", True),
    Action("source.jump", "n", "n", "To lines", "Back to the lines referred to", True),
    Action("source.copy", "y", "y", "Copy", "Copy the lines referred to", True),
    Action("deleted.restore", "u,enter", "u", "Restore", "Bring this memory back", True),
    Action("deleted.purge", "X", "X", "Erase", "Erase this memory for good", True),
    Action("deleted.close", "escape,U", "esc", "Back", "Back to the memories", True),
    Action("importing.mark", "space", "␣", "Choose", "Choose this place or leave it out", True),
    Action("importing.start", "i,enter", "i", "Import", "Import the chosen places", True),
    Action("importing.sample", "l", "l", "Sample", "Load the sample sessions, where no others are found", True),
    Action("importing.cancel", "c", "c", "Stop", "Stop the import and keep what is done", True),
    Action("importing.close", "escape", "esc", "Back", "Back to the memories", True),
    Action("welcome.importing", "i", "i", "Import", "Import the sessions found on this machine", True),
    Action("welcome.sample", "l", "l", "Sample", "Load the sample sessions", True),
    Action("welcome.close", "e,escape", "e", "Empty", "Start with an empty store", True),
    Action("form.save", "ctrl+s", "^s", "Save", "Save the memory", palette=False),
    Action("form.close", "escape", "esc", "Cancel", "Leave without saving; asks once when changed", palette=False),
    Action("confirm.yes", "y", "y", "Yes", "Do it", palette=False),
    Action("confirm.no", "n,escape,enter", "n", "No", "Leave everything as it is", palette=False),
)  # fmt: skip


ENTRY = (
    Action("entry.submit", "enter", "↵", "Done", "Keep what is written", does="focused.submit"),
    Action("entry.back", "escape", "esc", "Back", "Leave the entry", does="screen.back"),
    Action("entry.help", "f1", "F1", "Help", "Show the keys of this screen", does="app.help"),
)
"""Actions a footer shows while a person types into an entry: any other key is text."""


def of(*contexts: str) -> tuple[Action, ...]:
    """Return the actions of the given contexts, in the order of the contexts."""
    return tuple(action for context in contexts for action in ACTIONS if action.context == context)


def is_text(action: str, focused: Widget | None) -> bool:
    """Return whether the key of this action types a character now instead of starting the action.

    That is so for actions that open an entry, while an input or text area has the focus.
    """
    opens = any(known.method == action and known.opens_entry for known in ACTIONS)
    return opens and isinstance(focused, Input | TextArea)


def bindings(context: str) -> list[BindingType]:
    """Return the Textual bindings of a context; their ids let a keymap replace the keys."""
    return [
        Binding(
            action.keys,
            action.method,
            action.label,
            show=action.footer,
            key_display=action.shown,
            tooltip=action.help,
            priority=action.opens_entry,
            id=action.id,
        )
        for action in of(context)
    ]


def footer(*contexts: str) -> tuple[Action, ...]:
    """Return at most ``FOOTER_KEYS`` actions for the footer of a screen with these contexts."""
    return tuple(action for action in of(*contexts) if action.footer)[:FOOTER_KEYS]


def keys_document(actions: Iterable[Action] = ACTIONS) -> str:
    """Return the contents of ``docs/keys.md``: a Markdown table of keys for each context."""
    listed = tuple(actions)
    parts = [
        "# Keys",
        "Made from the action registry by `python -m synthorg_tui.tui.actions > docs/keys.md`. To"
        ' change keys, put `"keymap": {"memories.delete": "D"}` (action id to comma-separated keys)'
        " into `ui.json` in the data directory.",
    ]
    for context, title in CONTEXTS.items():
        rows = [action for action in listed if action.context == context]
        table = ["| Keys | Action | Id |", "|---|---|---|"]
        for action in rows:
            keys = " ".join(f"`{key}`" for key in action.keys.split(","))
            table.append(f"| {keys} | {action.help} | `{action.id}` |")
        parts += [f"## {title}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(keys_document(), end="")
