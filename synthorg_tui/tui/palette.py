"""The command palette: every action by title and by description, and what the store holds.

A provider searches one kind of thing; the app names them in ``COMMANDS``. Results of the store are
few, are read off the loop, and are gone to, never changed.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.app import App, SystemCommand
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory, Unwanted, owner_words
from synthorg_tui.tui.actions import of
from synthorg_tui.tui.base.lines import one_line
from synthorg_tui.tui.state import keymap_of

if TYPE_CHECKING:
    from synthorg_tui.executions.sessions import StoredSession
    from synthorg_tui.tui.engine_adapter import EngineAdapter
    from synthorg_tui.tui.making import PaneMaker

MAX_FOUND: Final = 10
"""Most entries of each kind of thing that the store holds."""
_LEAST_LETTERS: Final = 2
_TITLE_CELLS: Final = 100
_BY_HELP: Final = 0.5
"""Score of a command whose description has the words; those with the title come before it."""
_BY_STORE: Final = 0.1
"""Score of what the store holds: a command is what most come for."""


def system_commands(app: App[Any], screen: Screen[Any]) -> Iterable[SystemCommand]:
    """Yield an entry for each action of a screen and of the app, with its key in the title."""
    for context in getattr(screen, "HELP_CONTEXTS", ("app",)):
        for action in of(context):
            if action.palette:
                owner: App[Any] | Screen[Any] = app if context == "app" else screen
                yield SystemCommand(
                    f"{action.label} ({action.key(keymap_of(app))})",
                    action.help,
                    partial(owner.call_later, owner.run_action, action.method),
                )


def open_palette(app: App[Any]) -> None:
    """Open the palette over the present screen, unless it is open."""
    if not CommandPalette.is_open(app):
        hint = "An action, a memory, a skill or a session"
        app.push_screen(CommandPalette(placeholder=hint, id="--command-palette"))


class ActionCommands(Provider):
    """The actions, found by letters of their title or by words of their description."""

    async def discover(self) -> Hits:
        for name, help_text, callback, _ in sorted(self._commands()):
            yield DiscoveryHit(name, callback, help=help_text)

    async def search(self, query: str) -> Hits:
        matcher, words = self.matcher(query), query.casefold().split()
        for name, help_text, callback, _ in self._commands():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), callback, help=help_text)
            elif all(word in help_text.casefold() for word in words):
                yield Hit(_BY_HELP, name, callback, text=name, help=help_text)

    def _commands(self) -> Iterable[SystemCommand]:
        return system_commands(self.app, self.screen)


class StoredThings(Provider):
    """Memories, skills and sessions whose text has all the words."""

    async def search(self, query: str) -> Hits:
        maker: PaneMaker = self.app.maker  # type: ignore[attr-defined]
        words = tuple(query.split())
        if maker.desk is None or len(query.strip()) < _LEAST_LETTERS:
            return
        try:
            for row in await _rows(maker.desk, words):
                yield self._hit(
                    "memory",
                    one_line(row.content)[:_TITLE_CELLS],
                    owner_words(row.agent_id),
                    maker.show_memory,
                    row,
                )
            for session in await _sessions(maker.desk, words):
                title = session.title or session.id
                about = f"{session.agent_id} {session.project or ''}"
                yield self._hit("session", title, about, maker.show_session, session.id)
            for name, about in await _skills(maker.desk, words):
                yield self._hit("skill", name, about, maker.show_skill, name)
        except DomainError:  # the pane says what is wrong with the store
            return

    def _hit(self, kind: str, title: str, about: str, go: Callable[[Any], None], to: object) -> Hit:
        text = f"{kind:<8} {title}"
        shown = Content.assemble((f"{kind:<8} ", "$text-muted"), title)
        return Hit(_BY_STORE, shown, partial(go, to), text=text, help=one_line(about))


async def _rows(desk: "EngineAdapter", words: tuple[str, ...]) -> tuple[ListedMemory, ...]:
    """The newest memories, without those that tell a whole session, which is listed itself."""
    what = BrowseFilter(words=words, unwanted=Unwanted(kinds=(MemoryKind.SESSION,)))
    page = await desk.browse(what, sort="newest", offset=0, limit=MAX_FOUND)
    return page.entries


async def _sessions(desk: "EngineAdapter", words: tuple[str, ...]) -> "list[StoredSession]":
    found = []
    for each in await desk.sessions.list():
        texts = (each.title, each.id, each.agent_id, each.project)
        if _has(" ".join(filter(None, texts)), words):
            found.append(each)
    return found[:MAX_FOUND]


async def _skills(desk: "EngineAdapter", words: tuple[str, ...]) -> list[tuple[str, str]]:
    rows = [(row.name, row.description) for row in (await desk.skills.overview()).rows]
    return [(name, about) for name, about in rows if _has(f"{name} {about}", words)][:MAX_FOUND]


def _has(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word.casefold() in folded for word in words)
