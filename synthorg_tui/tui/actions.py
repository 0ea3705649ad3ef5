"""The registry of all actions a key can start; bindings, footer, palette, help and docs read it.

Texts that name a key ask it, too, also where no screen is: Textual is loaded by what needs it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from synthorg_tui.tui.action import Action as Action
from synthorg_tui.tui.key_table import CONTEXTS, keys_code, meaning_rows
from synthorg_tui.tui.organisation.keys import ORGANISATION
from synthorg_tui.tui.panes import PANES

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.widget import Widget

FOOTER_KEYS = 8
"""Maximum number of keys in a footer of 80 columns; a wider one has as many as there is room."""


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
    Action("app.suspend_process", "ctrl+z", "^z", "Suspend", "Go back to the shell; fg continues"),
    Action("app.trail", "T", "T", "Trail", "List what was decided, adopted or refused, also while the app was closed"),
    *(_pane(*pane) for pane in PANES),
    Action("app.connect", "f2", "F2", "Connect", "Connect or disconnect a coding agent; shows first what would change", does="manage('connecting')"),
    Action("app.import_path", "f3", "F3", "Import path", "Import transcripts from a file or folder"),
    Action("app.doctor", "f4", "F4", "Doctor", "Examine the store and repair it; what this process takes, and whether it is offline", does="manage('doctor')"),
    Action("app.backups", "f6", "F6", "Backups", "List the backups, make one, restore one", does="manage('backups')"),
    Action("app.settings", "f7", "F7", "Settings", "Every setting with its source: change it here or in the file, undo that, switch things off", does="manage('settings')"),
    Action("app.scenarios", "f8", "F8", "Scenarios", "Go to the scenarios of the Digest pane and ask them again"),
    Action("app.jobs", "f9", "F9", "Jobs", "What runs by itself: when, how far it is, what came of it; run or stop it", does="manage('jobs')"),
    Action("app.projects", "7", "7", "Projects", "What is known of each project, made from its sessions; go through it, change it, refresh it", does="manage('projects')"),
    Action("app.agents", "9", "9", "Agents", "Every agent: its place, its memories and rights, its own settings; change them", does="manage('agents')"),
    Action("app.overview", "0", "0", "Overview", "Pictures of the whole over time: memories, digests, hints, lessons, tokens, approvals, jobs", does="manage('overview')"),
    Action("app.consolidation", "f10", "F10", "Consolidation", "Plans of what could leave or be merged: make one, adopt it or parts of it, take it back", does="manage('consolidation')"),
    Action("app.runs", "ampersand", "&", "Runs", "Agents that run here, step by step: give one a task, stop it, go on with it", does="manage('runs')"),
    Action("app.models", "f12", "F12", "Models", "Embedding models side by side, by how well they find what you remember; try others", does="manage('models')"),
    Action("app.fine_tune", "number_sign", "#", "Fine-tune", "Train the embedder on your memories: runs, checkpoints, what is in force; deploy, take back", does="manage('fine_tune')"),
    Action("app.next_part", "tab", "tab", "Next part", "To the next part of the screen; shift+tab to the one before", palette=False, does="focus_next"),
    Action("memories.filter", "slash", "/", "Filter", "Filter as you type: words, -words, project: kind: agent: tag: session: since:", True, opens_entry=True),
    Action("memories.search", "s", "s", "Search", "Search by meaning and by words", True, opens_entry=True),
    Action("memories.mark", "space", "␣", "Mark", "Mark or unmark the memory under the cursor", True),
    Action("memories.mark_range", "V", "V", "Range", "Start a range; again to mark all up to the cursor"),
    Action("memories.mark_all", "asterisk", "*", "Mark all", "Mark every memory the view lists, or none"),
    Action("memories.add", "a", "a", "Add", "Write a new memory", True),
    Action("memories.edit", "e", "e", "Edit", "Edit the memory in a form", True),
    Action("memories.edit_outside", "E", "E", "Editor", "Edit the content in $EDITOR"),
    Action("memories.delete", "d,delete", "d", "Delete", "Delete the marked memories, or the one under the cursor", True),
    Action("memories.undo", "u", "u", "Undo", "Undo your last change, also one of an earlier run"),
    Action("memories.redo", "ctrl+r", "^r", "Redo", "Make the change again that was undone last"),
    Action("memories.archive", "x", "x", "Archive", "Archive the marked memories, or this one: kept as it is, given to no agent; is:archived lists them"),
    Action("memories.restore", "R", "R", "Restore", "Make the marked archived memories live again, or this one"),
    Action("memories.publish", "at", "@", "Share", "Publish the marked memories, or this one, to all agents; where all of them are, withdraw them"),
    Action("memories.deleted", "U", "U", "Deleted", "List what was deleted, to restore or erase it"),
    Action("memories.versions", "H", "H", "Versions", "List what the memory was before, to restore a version of it"),
    Action("memories.source", "p", "p", "Source", "Show the transcript lines the memory came from", True),
    Action("memories.known", "K", "K", "Project", "Show what is known of the memory's project"),
    Action("memories.copy", "y", "y", "Copy", "Copy the content of the marked memories, or of this one"),
    Action("memories.export", "ctrl+s", "^s", "Export", "Write the marked memories, or all in view, to a file"),
    Action("memories.sort", "o", "o", "Sort", "Next order: newest, oldest, agent, category, confidence"),
    Action("memories.importing", "i", "i", "Import", "Import transcripts of coding agents"),
    Action("memories.facets", "t", "t", "Groups", "Show or hide projects, kinds and agents"),
    Action("memories.zoom", "z", "z", "Zoom", "Give the detail the whole screen, and back"),
    Action("memories.narrower", "less_than_sign", "<", "Smaller", "Less room for the list", does="resize(-5)"),
    Action("memories.wider", "greater_than_sign", ">", "Larger", "More room for the list", does="resize(5)"),
    Action("memories.reload", "r,f5", "r", "Reload", "Read the store again"),
    Action("memories.back", "escape", "esc", "Back", "Close the zoom, the search, then the filter", False, False),
    Action("digest.task", "slash", "/", "Task", "Write what the agent is about to do; answers as you type", True, opens_entry=True),
    Action("digest.agent", "at", "@", "Agent", "Choose as which agent to ask", True),
    Action("digest.budget", "b", "b", "Budget", "Set how many tokens the memories may take", True),
    Action("digest.more", "plus,equals_sign", "+", "More", "Raise the budget"),
    Action("digest.less", "minus", "-", "Less", "Lower the budget"),
    Action("digest.options", "O", "O", "Options", "Strategy, fusion, weights, variety and more", True),
    Action("digest.reset", "R", "R", "Reset", "Options and budget as configured, nothing pinned or excluded"),
    Action("digest.pin", "space", "␣", "Pin", "Put the memory in whatever its score, or let it go", True),
    Action("digest.exclude", "x", "x", "Exclude", "Keep the memory out, or let it in again", True),
    Action("digest.memory", "m", "m", "Memory", "Show the memory in the Memories pane"),
    Action("digest.group", "t", "t", "The same", "List the memories that this line stands for"),
    Action("digest.source", "p", "p", "Source", "Show the transcript lines the memory came from"),
    Action("digest.edit", "e", "e", "Edit", "Edit the memory and see what that changes"),
    Action("digest.diff", "c", "c", "Changes", "Show what changed in the text, or the text again"),
    Action("digest.next_change", "n", "n", "Next", "To the next change of the text"),
    Action("digest.previous_change", "N", "N", "Previous", "To the change before"),
    Action("digest.compare", "C", "C", "From here", "Show later changes against the present text"),
    Action("digest.copy", "y", "y", "Copy", "Copy exactly what the agent would read", True),
    Action("digest.save", "ctrl+s", "^s", "Save", "Keep the question as a scenario"),
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
    Action("skills.edit", "E,e", "E", "Editor", "Edit the file in $EDITOR; what changed is put up for review", True),
    Action("skills.check", "exclamation_mark", "!", "Check", "Read the file again and tell its problems", True),
    Action("skills.problem", "n", "n", "Problem", "Go to the next problem of the source"),
    Action("skills.previous_problem", "N", "N", "Previous", "Go to the problem before"),
    Action("skills.accept", "a", "a", "Accept", "Review what changed or was found on disk, to use it in memory", True),
    Action("skills.restore", "R", "R", "Write back", "Write our version back over the one on disk"),
    Action("skills.changes", "c", "c", "Changes", "Show what a version changed, or the source again", True),
    Action("skills.older", "left_square_bracket", "[", "Older", "The change before"),
    Action("skills.newer", "right_square_bracket", "]", "Newer", "The change after"),
    Action("skills.source", "p", "p", "Source", "Show the transcript lines that taught it; again for the next", True),
    Action("skills.memory", "m", "m", "Memory", "Show the skill's memory in the Memories pane"),
    Action("skills.evaluate", "percent_sign", "%", "Helps?", "Look again whether it helps: its text, recorded prompts, its failure since"),
    Action("skills.copy", "y", "y", "Copy", "Copy the skill's file as it is on disk"),
    Action("skills.sort", "o", "o", "Sort", "Next order: name, use, state"),
    Action("skills.retire", "X,delete", "X", "Retire", "Take the skill out of use, file and memory", True),
    Action("skills.undo", "u", "u", "Undo", "Take back the last decision, also one of an earlier run"),
    Action("skills.view", "v", "v", "View", "Show the source, what is known about it, or what changed"),
    Action("skills.zoom", "z", "z", "Zoom", "Give the skill the whole room, and back"),
    Action("skills.reload", "r,f5", "r", "Reload", "Look through the folders again"),
    Action("skills.back", "escape", "esc", "Back", "Close the zoom, the changes, then the filter", False, False),
    Action("approvals.filter", "slash", "/", "Filter", "Filter as you type: words, -words, kind: project: certainty: agent: scope: risk: is:flagged", True, opens_entry=True),
    Action("approvals.review", "enter", "↵", "Review", "Open the item with all a decision stands on", True),
    Action("approvals.mark", "space", "␣", "Mark", "Mark or unmark the item under the cursor", True),
    Action("approvals.mark_all", "asterisk", "*", "Mark all", "Mark every item the view lists, or none"),
    Action("approvals.approve_reviewed", "A", "A", "Approve", "Approve what you reviewed and is listed; marked ones only, if any are", True),
    Action("approvals.edit_outside", "E", "E", "$EDITOR", "Decide on the marked items, or all, in one file in $EDITOR: deleted rejects, edited rewords"),
    Action("approvals.snooze", "w", "w", "Snooze", "Put the item out of the way for a while; a snoozed one waits again", True),
    Action("approvals.memory", "m", "m", "Memory", "Show the memory the item is about in the Memories pane"),
    Action("approvals.undo", "u", "u", "Undo", "Take back the last decision, also one of an earlier run", True),
    Action("approvals.view", "v", "v", "View", "What waits, is snoozed, was approved, was rejected", True),
    Action("approvals.sort", "o", "o", "Sort", "Next order: newest, oldest, confidence, recurrence, risk"),
    Action("approvals.group", "t", "t", "Group", "Group by kind, agent, scope, or not"),
    Action("approvals.zoom", "z", "z", "Zoom", "Give the item the whole room, and back"),
    Action("approvals.reload", "r,f5", "r", "Reload", "Read the queue again"),
    Action("approvals.back", "escape", "esc", "Back", "Close the zoom, then the filter", False, False),
    Action("activity.filter", "slash", "/", "Filter", "Filter as you type: words, -words, agent: client: kind: tool: is:error is:write", True, opens_entry=True),
    Action("activity.pause", "P", "P", "Pause", "Refuse every call of the agent, after asking, or let it go on", True),
    Action("activity.read_only", "W", "W", "Read-only", "Refuse the agent's writes, after asking, or let it write again", True),
    Action("activity.disconnect", "X,delete", "X", "Disconnect", "End the agent's connection; it may come back", True),
    Action("activity.undo", "u", "u", "Undo", "Take back what the call wrote, or bring it back", True),
    Action("activity.silence", "M", "M", "Mute", "Give no more hints about the command, the lesson or the project of a hint, or allow them again"),
    Action("activity.memory", "m", "m", "Memory", "Show a memory of the call, or the skill it read, in its pane", True),
    Action("activity.view", "v", "v", "Why", "Show why the digest was so, or what the agent read", True),
    Action("activity.only", "at", "@", "Only", "List only the calls of this agent, or all again"),
    Action("activity.copy", "y", "y", "Copy", "Copy exactly what the agent read"),
    Action("activity.zoom", "z", "z", "Zoom", "Give the call the whole room, and back"),
    Action("activity.reload", "r,f5", "r", "Reload", "Read the log again"),
    Action("activity.back", "escape", "esc", "Back", "Close the zoom, the reasons, then the filter", False, False),
    Action("sessions.filter", "slash", "/", "Filter", "Filter as you type: words, -words, agent: project: since: until: is:failed is:interrupted", True, opens_entry=True),
    Action("sessions.read", "enter", "↵", "Read", "Read the session as a conversation", True),
    Action("sessions.memories", "m", "m", "Memories", "Show the memories drawn from it in the Memories pane", True),
    Action("sessions.known", "K", "K", "Project", "Show what is known of the session's project"),
    Action("sessions.copy", "y", "y", "Resume", "Copy the command that resumes it in its agent's own program", True),
    Action("sessions.export", "ctrl+s", "^s", "Export", "Write the session to a file", True),
    Action("sessions.delete", "d,delete", "d", "Delete", "Delete the session for good, alone or with what was made of it", True),
    Action("sessions.sort", "o", "o", "Sort", "Next order: newest, largest", True),
    Action("sessions.fold", "space", "␣", "Subagents", "List the subagents of the session under it, or fold them"),
    Action("sessions.importing", "i", "i", "Import", "Import transcripts of coding agents"),
    Action("sessions.zoom", "z", "z", "Zoom", "Give the detail the whole screen, and back"),
    Action("sessions.reload", "r,f5", "r", "Reload", "Read the store again"),
    Action("sessions.back", "escape", "esc", "Back", "Close the zoom, then the filter", False, False),
    *ORGANISATION,
    Action("deleting.yes", "y", "y", "Delete", "Delete the session, with what was made of it", palette=False),
    Action("deleting.keep", "k", "k", "Keep", "Delete the session and keep what was made of it", palette=False),
    Action("deleting.no", "n,escape", "n", "No", "Leave everything as it is", palette=False),
    Action("review.approve", "a", "a", "Approve", "Approve exactly what is shown", True),
    Action("review.reword", "e", "e", "Edit", "Reword it in a form, then approve it", True),
    Action("review.reword_outside", "E", "E", "Editor", "Reword it in $EDITOR, then approve it"),
    Action("review.parts", "f", "f", "Parts", "Choose whose text for each field and which steps", True),
    Action("review.scope", "at", "@", "For whom", "Choose for which agents it would be: the next scope"),
    Action("review.drop", "backspace", "⌫", "Drop", "Drop your wording"),
    Action("review.reject", "x", "x", "Reject", "Reject with a reason; it is not proposed again", True),
    Action("review.snooze", "w", "w", "Snooze", "Put it out of the way for a while", True),
    Action("review.source", "p", "p", "Source", "Show the transcript lines of the chosen occurrence", True),
    Action("review.evidence", "right_square_bracket", "]", "Occurrence", "Choose the next recorded occurrence"),
    Action("review.evidence_before", "left_square_bracket", "[", "Before", "Choose the occurrence before"),
    Action("review.memory", "m", "m", "Words", "A lesson in the model's words or in code's; else the memory it is about"),
    Action("review.evaluate", "percent_sign", "%", "Helps?", "Look again whether the proposed skill helps: its text, recorded prompts"),
    Action("review.next", "n", "n", "Next", "The next item of the list", True),
    Action("review.previous", "N", "N", "Previous", "The item before"),
    Action("review.copy", "y", "y", "Copy", "Copy what would be stored"),
    Action("review.undo", "u", "u", "Undo", "Take back the last decision"),
    Action("review.reload", "r,f5", "r", "Reload", "Read the item again"),
    Action("review.close", "escape", "esc", "Back", "Back, deciding nothing"),
    Action("lesson.save", "ctrl+s", "^s", "Use it", "Show this wording in the review, to approve it there", palette=False),
    Action("lesson.close", "escape", "esc", "Cancel", "Leave the wording as it was; asks once when changed", palette=False),
    Action("parts.previous", "left,h", "←", "Before", "The text before, of evidence, model and you", palette=False),
    Action("parts.next", "right,l,space,enter", "→", "Next", "The next text; keeps or drops a step", palette=False),
    Action("parts.reword", "e", "e", "Reword", "Write a field yourself", palette=False),
    Action("parts.save", "ctrl+s", "^s", "Use these", "Show these parts in the review, to approve them there", palette=False),
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
    Action("view.search", "slash", "/", "Find", "Find in the text as you type, when it has the keys", palette=False),
    Action("view.next_match", "n", "n", "Next", "The next match, while something is looked for", palette=False),
    Action("view.previous_match", "N", "N", "Previous", "The match before", palette=False),
    Action("view.end_search", "escape", "esc", "End", "End the search", palette=False),
    Action("source.close", "escape,p", "esc", "Back", "Back to where you were", True),
    Action("source.unfold", "enter,space", "↵", "Unfold", "Unfold a call's output or folded records, or fold them", True),
    Action("source.unfold_all", "z", "z", "All", "Unfold every call, or fold everything", True),
    Action("source.failure", "F", "F", "Failure", "Go to the next call that failed", True),
    Action("source.jump", "L", "L", "To lines", "Back to the lines referred to", True),
    Action("source.raw", "v", "v", "As is", "Show the lines of this entry as they are in the file"),
    Action("source.copy", "y", "y", "Copy", "Copy what is under the cursor", True),
    Action("deleted.filter", "slash", "/", "Filter", "Filter as you type: words, -words, project: kind: agent: tag: session: since:", True, opens_entry=True),
    Action("deleted.mark", "space", "␣", "Mark", "Mark or unmark the memory under the cursor", True),
    Action("deleted.mark_range", "V", "V", "Range", "Start a range; again to mark all up to the cursor"),
    Action("deleted.mark_all", "asterisk", "*", "Mark all", "Mark every memory the view lists, or none", True),
    Action("deleted.restore", "u,enter", "u", "Restore", "Bring the marked memories back, or this one", True),
    Action("deleted.purge", "X", "X", "Erase", "Erase the marked memories for good, or this one", True),
    Action("deleted.cancel", "c", "c", "Stop", "Stop restoring and keep what is done", True),
    Action("deleted.close", "escape,U", "esc", "Back", "Clear the filter, then back to the memories", True),
    Action("versions.restore", "R,enter", "R", "Restore", "Make this version the newest one, after asking", True),
    Action("versions.undo", "u", "u", "Undo", "Undo what was restored here", True),
    Action("versions.close", "escape,H", "esc", "Back", "Back to the memories", True),
    Action("importing.mark", "space", "␣", "Choose", "Choose this place or leave it out", True),
    Action("importing.start", "i,enter", "i", "Import", "Import the chosen places", True),
    Action("importing.sample", "l", "l", "Sample", "Load the sample sessions, where no others are found", True),
    Action("importing.cancel", "c", "c", "Stop", "Stop the import and keep what is done", True),
    Action("importing.close", "escape", "esc", "Back", "Back to the memories", True),
    Action("welcome.importing", "i", "i", "Import", "Import the sessions found on this machine", True),
    Action("welcome.sample", "l", "l", "Sample", "Load the sample sessions", True),
    Action("welcome.close", "e,escape", "e", "Empty", "Start with an empty store", True),
    Action("doctor.again", "r,f5", "r", "Again", "Examine the store again", True),
    Action("doctor.repair", "R", "R", "Repair", "Repair what can be repaired", True),
    Action("doctor.cancel", "c", "c", "Stop", "Stop what is running", True),
    Action("doctor.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("backups.create", "a", "a", "Back up", "Make a backup now", True),
    Action("backups.restore", "R", "R", "Restore", "Replace the store by this backup; enter does too", True),
    Action("backups.cancel", "c", "c", "Stop", "Stop what is running", True),
    Action("backups.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("jobs.run", "r,f5", "r", "Run", "Run the job under the cursor now", True),
    Action("jobs.cancel", "c", "c", "Stop", "Stop the job under the cursor and keep what is done", True),
    Action("jobs.read", "enter", "↵", "Runs", "Read its latest runs, line by line; tab goes there, too", True),
    Action("jobs.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("overview.more", "plus,equals_sign", "+", "Longer", "A longer span: 7 days, 30 days, 13 weeks, 12 months, all time", True),
    Action("overview.less", "minus", "-", "Shorter", "A shorter span", True),
    Action("overview.reload", "r,f5", "r", "Again", "Count again", True),
    Action("overview.copy", "y", "y", "Copy", "Copy the block under the cursor as text", True),
    Action("overview.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("models.run", "r,f5", "r", "Try", "Try what is listed on what was recorded; your store isn't touched", True),
    Action("models.add", "a", "a", "Add", "Try another embedder or re-ranker, or ask about a file of conversations", True),
    Action("models.delete", "d,delete", "d", "Leave out", "Take what is under the cursor out of the list", True),
    Action("models.view", "v", "v", "Questions", "The next set of questions", True),
    Action("models.copy", "y", "y", "Copy", "Copy the tables as text", True),
    Action("models.cancel", "c", "c", "Stop", "Stop what is running and keep what is done", True),
    Action("models.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("calendar.previous", "left,h", "←", "Week before", "A week back in the calendar", palette=False),
    Action("calendar.next", "right", "→", "Week after", "A week on in the calendar", palette=False),
    Action("projects.read", "enter", "↵", "Open", "Open the page, to go through its lines", True),
    Action("projects.reload", "r,f5", "r", "Refresh", "Look at sessions that are new or changed", True),
    Action("projects.copy", "y", "y", "Copy", "Copy the page as Markdown", True),
    Action("projects.export", "ctrl+s", "^s", "Export", "Write the page to a file, as Markdown", True),
    Action("projects.merge", "J", "J", "Merge", "Make this project part of another one; it shows what moves, and asks"),
    Action("projects.split", "x", "x", "Split", "Make a folder of this project one of its own; it shows what moves, and asks"),
    Action("projects.rename", "e", "e", "Rename", "Call this project otherwise"),
    Action("projects.undo", "u", "u", "Undo", "Undo your last merge, split or rename, also one of an earlier run"),
    Action("projects.cancel", "c", "c", "Stop", "Stop what is running and keep what is done", True),
    Action("projects.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("project.read", "enter", "↵", "Seen in", "Show the lines of the session that this stands on", True),
    Action("project.edit", "e", "e", "Edit", "Edit the line's memory; it then stays as you wrote it", True),
    Action("project.delete", "d,delete", "d", "Delete", "Delete the line's memory; the line then stays away", True),
    Action("project.undo", "u", "u", "Undo", "Undo your last change, also one of an earlier run", True),
    Action("project.copy", "y", "y", "Copy", "Copy the page as Markdown"),
    Action("project.export", "ctrl+s", "^s", "Export", "Write the page to a file, as Markdown"),
    Action("project.reload", "r,f5", "r", "Refresh", "Look at sessions that are new or changed", True),
    Action("project.cancel", "c", "c", "Stop", "Stop what is running and keep what is done", True),
    Action("project.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("consolidation.run", "r,f5", "r", "Plan", "Make a plan now; it changes no memory", True),
    Action("consolidation.approve", "a", "a", "Adopt", "Adopt the marked groups, this one, or of a plan all that is open, after asking", True),
    Action("consolidation.reject", "x", "x", "Drop", "Drop them instead; no memory is changed", True),
    Action("consolidation.mark", "space", "␣", "Mark", "Mark or unmark the group under the cursor", True),
    Action("consolidation.mark_all", "asterisk", "*", "Mark all", "Mark every open group of the plan, or none"),
    Action("consolidation.undo", "u", "u", "Undo", "Take back all that was adopted of the plan, after asking", True),
    Action("consolidation.unfold", "enter", "↵", "Open", "List a plan's groups or fold them, read a group, or go to Approvals with a model's text"),
    Action("consolidation.cancel", "c", "c", "Stop", "Stop what is running; what is done is kept", True),
    Action("consolidation.close", "escape,f10", "esc", "Back", "Back to where you were", True),
    Action("connecting.approve", "a", "a", "Write", "Write exactly what is shown", True),
    Action("connecting.disconnect", "X,delete", "X", "Disconnect", "Show what disconnecting would change", True),
    Action("connecting.scope", "s", "s", "Scope", "For all your projects, or for this one", True),
    Action("connecting.hooks", "h", "h", "Hooks", "Claude Code: with hooks or without", True),
    Action("connecting.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("agents.edit", "E", "E", "Editor", "Change its role, department, seniority, level and own settings in $EDITOR; the change of the settings file is shown first", True),
    Action("agents.pause", "P", "P", "Pause", "Refuse everything to the agent, or let it go on", True),
    Action("agents.read_only", "W", "W", "Read only", "Refuse the agent's writes, or allow them again", True),
    Action("agents.memories", "m", "m", "Memories", "Go to the agent's memories", True),
    Action("agents.reload", "r,f5", "r", "Reload", "Read the agents again"),
    Action("agents.close", "escape", "esc", "Back", "Back to where you were", True),
    Action("settings.filter", "slash", "/", "Filter", "Filter as you type: words in name, value, source", True, opens_entry=True),
    Action("settings.reset", "R", "R", "Reset", "Forget what was changed of the setting: the file holds again, or the default", True),
    Action("settings.undo", "u", "u", "Undo", "Undo the last change of a setting, also one of an earlier run", True),
    Action("settings.redo", "ctrl+r", "^r", "Redo", "Make the change again that was undone last"),
    Action("settings.versions", "H", "H", "Changes", "List who changed which setting, and when", True),
    Action("settings.edit", "E", "E", "Editor", "Open the settings file in $EDITOR, then check it", True),
    Action("settings.check", "exclamation_mark", "!", "Check", "Read the file again and say what is wrong with it", True),
    Action("settings.close", "escape", "esc", "Back", "Leave the filter, then the settings", True),
    Action("runs.add", "a", "a", "New run", "Give an agent a task: which one, where it works, what it may do and use up", True),
    Action("runs.cancel", "c", "c", "Stop", "Stop the run under the cursor, after asking", True),
    Action("runs.again", "r,f5", "r", "Resume", "Go on with the run under the cursor, behind its last complete step", True),
    Action("runs.read", "enter", "↵", "Open", "Go to the steps; there: what waits for you, the memories given, or all of the step", True),
    Action("runs.source", "p", "p", "Record", "Show the run's record, as every session is shown", True),
    Action("runs.memory", "m", "m", "Memory", "Show a memory that the run was given in the Memories pane"),
    Action("runs.view", "v", "v", "Changes", "Show what a run in a copy of its folder changed, or the step again"),
    Action("runs.copy", "y", "y", "Copy", "Copy the step under the cursor"),
    Action("runs.zoom", "z", "z", "Zoom", "Give the steps the whole room, and back"),
    Action("runs.close", "escape,ampersand", "esc", "Back", "Back to where you were; what runs goes on", True),
    Action("tuning.run", "r,f5", "r", "Train", "Train on your memories, after asking; go on with the run under the cursor if it broke off", True),
    Action("tuning.approve", "a", "a", "Deploy", "Have searches use the checkpoint under the cursor, after asking", True),
    Action("tuning.restore", "R", "R", "Roll back", "Take the checkpoint in force back, after asking", True),
    Action("tuning.delete", "d,delete", "d", "Delete", "Delete the checkpoint or the run under the cursor for good, after asking", True),
    Action("tuning.cancel", "c", "c", "Stop", "Stop the run at work; what is done is kept, and it can be gone on with", True),
    Action("tuning.check", "exclamation_mark", "!", "Check", "Look at what a run would need, without changing anything", True),
    Action("tuning.read", "enter", "↵", "Open", "Go to the text, to scroll it"),
    Action("tuning.close", "escape,number_sign", "esc", "Back", "Back to where you were; what is at work goes on", True),
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


_OPENING_ENTRIES = frozenset(action.method for action in ACTIONS if action.opens_entry)


def of(*contexts: str) -> tuple[Action, ...]:
    """Return the actions of the given contexts, in the order of the contexts."""
    return tuple(action for context in contexts for action in ACTIONS if action.context == context)


def is_writing(focused: "Widget | None") -> bool:
    """Return whether the person writes into an entry or a text."""
    from textual.widgets import Input, TextArea

    return isinstance(focused, Input | TextArea)


def is_text(action: str, focused: "Widget | None") -> bool:
    """Return whether the key of this action types a character now instead of starting the action.

    That is so for actions that open an entry, while an input or text area has the focus.
    """
    return action in _OPENING_ENTRIES and is_writing(focused)


def bindings(context: str) -> "list[BindingType]":
    """Return the Textual bindings of a context; their ids let a keymap replace the keys."""
    from textual.binding import Binding

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
    """Return the actions for the footer of a screen with these contexts, most wanted first.

    Those of the first context that only have a place on a wide terminal come behind the others,
    before the last one, which is the help.
    """
    listed = of(*contexts)
    first = [action for action in listed if action.footer]
    more = [each for each in listed if each not in first and each.context == contexts[0]]
    return (*first[:-1], *(each for each in more if each.palette), *first[-1:])


_BOUND: dict[str, str] = {}


def use_keymap(keymap: Mapping[str, str]) -> None:
    """Take over the keys that a person chose, by action id; a process has one app and one keymap."""
    _BOUND.clear()
    _BOUND.update(keymap)


def key_of(action_id: str) -> str:
    """Return the label of the key that starts an action, as a person has bound it.

    Every text that names a key asks here, so that it never names one that does something else.
    """
    return next(action for action in ACTIONS if action.id == action_id).key(_BOUND)


def keys_document(actions: Iterable[Action] = ACTIONS) -> str:
    """Return the contents of ``docs/keys.md``: a Markdown table of keys for each context."""
    listed = tuple(actions)
    parts = [
        "# Keys",
        "Made from the action registry by `python -m synthorg_tui.tui.actions > docs/keys.md`. To"
        ' change keys, put `"keymap": {"memories.delete": "D"}` (action id to comma-separated keys)'
        " into `ui.json` in the data directory. The last column has the command that does the same"
        " without a screen, or why there is none.",
        "## What a key means",
        "\n".join(meaning_rows()),
    ]
    for context, title in CONTEXTS.items():
        table = ["| Keys | Action | Id | Without a screen |", "|---|---|---|---|"]
        for action in (action for action in listed if action.context == context):
            command = f"`{action.command}`" if action.command else action.screen_only
            told = action.help.replace("|", "\\|")
            table.append(f"| {keys_code(action.keys)} | {told} | `{action.id}` | {command} |")
        parts += [f"## {title}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(keys_document(), end="")
