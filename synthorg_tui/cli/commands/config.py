"""``config``: checks and shows the settings."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group
from synthorg_tui.cli.commands import COMMANDS

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context


def add(commands: Subparsers) -> None:
    """Add the parser of ``config`` to ``commands``."""
    actions = add_group(commands, "config", COMMANDS["config"].summary)
    add_command(actions, "check", run_check, "say what is wrong with the settings")
    add_command(actions, "show", run_show, "show the settings in force")
    add_command(actions, "path", run_path, "say where the settings file is")


async def run_check(context: "Context") -> int:
    """Check the settings by loading them; raises ``ConfigError`` with every problem."""
    from synthorg_tui.settings.environment import config_file

    source = config_file(context.args.config)
    context.settings()
    return context.print_result(
        {"ok": True, "path": str(source) if source else None},
        f"{source}: ok" if source else "No settings file; the defaults hold.",
    )


async def run_show(context: "Context") -> int:
    """Print the settings in force, with secrets hidden."""
    settings = context.settings().model_dump(mode="json")
    if context.wants_json:
        context.console.json(settings)
    else:
        import yaml

        text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
        context.console.line(text.rstrip())
    return 0


async def run_path(context: "Context") -> int:
    """Print the path of the settings file in force, or the path where one would be searched."""
    from synthorg_tui.settings.environment import config_file, default_config_file

    source = config_file(context.args.config)
    path = source or default_config_file()
    code = context.print_result({"path": str(path), "exists": source is not None}, str(path))
    if source is None and not context.wants_json:
        context.console.note("not there yet; the defaults hold")
    return code
