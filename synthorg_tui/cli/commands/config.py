"""``config``: checks and shows the settings; what changes them is in ``config_changes``."""

from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import config_changes
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Note, Table
from synthorg_tui.cli.records import shaped
from synthorg_tui.core.errors import ConfigError, DomainError

if TYPE_CHECKING:
    from synthorg_tui.settings.kept import KeptSetting
    from synthorg_tui.settings.safety import Loosened


class _OfStore(NamedTuple):
    """What a store keeps of settings, and which looser safety settings wait for a yes."""

    kept: "tuple[KeptSetting, ...]" = ()
    waiting: "tuple[Loosened, ...]" = ()


async def _of_store(context: Context) -> _OfStore:
    """What the store keeps, and what is looser than it holds to; nothing without a store."""
    from synthorg_tui.core.types import warn
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.persistence.lock import has_store
    from synthorg_tui.settings.agreed import not_taken
    from synthorg_tui.settings.kept import with_kept
    from synthorg_tui.settings.safety import loosened, values_of

    settings = context.settings()
    if not has_store(context.data_dir):
        return _OfStore()
    try:
        async with context.engine() as engine:
            kept = await engine.kept.kept()
            wanted = with_kept(settings, {each.path: each for each in kept}).settings
            found = loosened(values_of(wanted), await engine.safety.agreed())
            if isinstance(engine, RemoteEngine):  # an engine of our own has warned already
                for each in found:
                    warn(each.path, each.wanted, not_taken(each, wanted))
    except DomainError as error:
        context.console.warning(f"the store can't be asked what it holds to: {error.message}")
        return _OfStore()
    return _OfStore(kept, found)


@Command("check", "say what is wrong with the settings").runs
async def check(context: Context) -> Answer:
    """Check settings and themes by loading them; raises ``ConfigError`` with every problem."""
    from synthorg_tui.settings.environment import config_file, themes_folder
    from synthorg_tui.settings.theme_files import read_themes

    source = config_file(context.args.config)
    waiting = (await _of_store(context)).waiting
    if problems := read_themes(themes_folder(context.args.config)).problems:
        raise ConfigError("\n".join(problems))
    return Answer(
        {
            "ok": True,
            "path": str(source) if source else None,
            "not_taken": [found._asdict() for found in waiting],
        },
        f"{source}: ok" if source else "No settings file; the defaults hold.",
    )


@Command("show", "show the settings in force").runs
async def show_settings(context: Context) -> Answer:
    """Print the settings in force for the store, with secrets hidden."""
    import yaml

    from synthorg_tui.settings.kept import with_kept
    from synthorg_tui.settings.safety import with_values

    store = await _of_store(context)
    wanted = with_kept(context.settings(), {each.path: each for each in store.kept})
    held = with_values(wanted.settings, {found.path: found.holds for found in store.waiting})
    settings = held.model_dump(mode="json")
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    return Answer(settings, text.rstrip())


@Command(
    "explain",
    "say where the value of each setting comes from",
    examples=("config explain", "config explain agents", "config explain memory.retrieval"),
    arguments=(
        Argument(
            "begun",
            nargs="?",
            default="",
            metavar="NAME",
            help="only settings whose names begin so",
        ),
    ),
).runs
async def explain(context: Context) -> Answer:
    """Print every setting with its value, its source (default, file and line, or variable)."""
    from synthorg_tui.settings.listing import list_settings

    begun, kept = context.args.begun, (await _of_store(context)).kept
    listed = list_settings(context.args.config, kept=kept)
    found = [each for each in listed if each.path.startswith(begun)]
    if not found:
        raise UsageError(
            f"no setting's name begins with {begun!r}",
            remedy="`synthorg-tui config explain` lists them all.",
        )
    rows = [(it.path, it.value, it.source) for it in found]
    notes = [f"{it.path}: {note}" for it in found for note in it.notes]
    return Answer(
        {"settings": shaped(found, "path value source allowed default about notes")},
        [Table(("SETTING", "VALUE", "FROM"), rows), Note(*notes)],
    )


@Command("path", "say where the settings file is").runs
async def show_path(context: Context) -> Answer:
    """Print the path of the settings file in force, or the path where one would be searched."""
    from synthorg_tui.settings.environment import config_file, default_config_file

    source = config_file(context.args.config)
    path = str(source or default_config_file())
    return Answer(
        {"path": path, "exists": source is not None},
        path,
        note="" if source else "not there yet; the defaults hold",
    )


GROUP: Final = Command(
    "config",
    commands=(check, show_settings, explain, show_path, *config_changes.DECLARED),
)
