"""The keys of the Organisation pane and of its slider over time, for the registry of actions."""

from typing import Final

from synthorg_tui.tui.action import Action

ORGANISATION: Final[tuple[Action, ...]] = (
    Action("organisation.filter", "slash", "/", "Filter", "Filter as you type: words, -words, project: kind: from: is:retracted is:superseded", True, opens_entry=True),
    Action("organisation.search", "s", "s", "Search", "Search by meaning and by words", opens_entry=True),
    Action("organisation.add", "a", "a", "Add", "Write a policy, decision, procedure or convention", True),
    Action("organisation.edit", "e", "e", "Edit", "Write a new version of the entry in a form", True),
    Action("organisation.edit_outside", "E", "E", "Editor", "Write a new version of its text in $EDITOR"),
    Action("organisation.retract", "x", "x", "Retract", "Take the entry out of force, after asking: kept with its history, told to no agent", True),
    Action("organisation.revive", "R", "R", "Revive", "Put a retracted entry in force again, as its newest version"),
    Action("organisation.undo", "u", "u", "Undo", "Take back your last change, also one of an earlier run"),
    Action("organisation.older", "left_square_bracket", "[", "Earlier", "Show the list as it was before the last change; again for the one before", True),
    Action("organisation.newer", "right_square_bracket", "]", "Later", "To the next moment at which something changed; after the last comes now", True),
    Action("organisation.day_earlier", "left_curly_bracket", "{", "Day back", "Show the list as it was a day earlier"),
    Action("organisation.day_later", "right_curly_bracket", "}", "Day on", "Show the list as it was a day later"),
    Action("organisation.week_earlier", "left_parenthesis", "(", "Week back", "Show the list as it was a week earlier"),
    Action("organisation.week_later", "right_parenthesis", ")", "Week on", "Show the list as it was a week later"),
    Action("organisation.changes", "c", "c", "Changes", "Show what each version changed, or the entry again", True),
    Action("organisation.view", "v", "v", "View", "The entry, what its versions changed, and writes of agents that were refused"),
    Action("organisation.memory", "m", "m", "Open", "Open the skill, the shared memory or the setting where it lives"),
    Action("organisation.source", "p", "p", "Source", "Open the file that it was read from in $EDITOR, at its line"),
    Action("organisation.known", "K", "K", "Project", "Show what is known of the entry's project"),
    Action("organisation.deleted", "U", "U", "Retracted", "List what was retracted, or what is in force"),
    Action("organisation.copy", "y", "y", "Copy", "Copy the text of the entry"),
    Action("organisation.zoom", "z", "z", "Zoom", "Give the detail the whole screen, and back"),
    Action("organisation.reload", "r,f5", "r", "Reload", "Read the store again"),
    Action("organisation.back", "escape", "esc", "Back", "Close the zoom, the changes, the search, go back to now, then close the filter", False, False),
    Action("slider.previous", "left,h", "←", "Earlier", "The moment before at which something changed", palette=False),
    Action("slider.next", "right", "→", "Later", "The next moment at which something changed", palette=False),
    Action("slider.first", "g,home", "g", "Beginning", "The first moment", palette=False),
    Action("slider.last", "G,end", "G", "Now", "Back to now", palette=False),
)  # fmt: skip
"""The actions, in the order of the help."""
