"""The arguments of ``skills``."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any


def add_skills(
    commands: Any,
    command: Callable[..., argparse.ArgumentParser],
    path: Callable[[str], Path],
) -> None:
    """Add ``skills`` with its commands.

    ``command`` makes a parser with what every command has, ``path`` reads a path.
    """
    parser = commands.add_parser(
        "skills",
        help="list, show and check skills, and put changed files up for review",
        description="Skills are SKILL.md files: of projects, of yours, and of approved lessons.",
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command(
        actions,
        "list",
        "skills:run_list",
        "list skills",
        more="Those of projects come\nbefore yours, and those before approved lessons; "
        "of one name the first wins.",
    )
    showing = command(
        actions,
        "show",
        "skills:run_show",
        "show a skill, what is wrong with it, and what taught it",
        examples=("skills show push-new-branch", "skills show .claude/skills/release/SKILL.md"),
    )
    showing.add_argument("skill", metavar="NAME", help="its name, or the path of its file")
    validating = command(
        actions,
        "validate",
        "skills:run_validate",
        "say what is wrong with skills, line by line",
        more="Exits with 1 when a skill\ncan't be used.",
        examples=("skills validate", "skills validate --strict .agents/skills"),
    )
    validating.add_argument(
        "paths",
        nargs="*",
        type=path,
        metavar="PATH",
        help="a SKILL.md, its folder, or a folder of such folders (default: all there are)",
    )
    validating.add_argument(
        "--strict", action="store_true", help="exit with 1 for what only strict readers refuse, too"
    )
    command(
        actions,
        "sync",
        "skills:run_sync",
        "put skills that changed on disk up for review",
        more="Nothing counts\nbefore you have approved it; see `synthorg-tui proposals`.",
    )
    reviewing = command(
        actions,
        "review",
        "skills:run_review",
        "put skills up for review that were here before",
        more="What lies in a folder\nwhen it is seen first is only listed, as found.",
        examples=("skills review release",),
    )
    reviewing.add_argument(
        "skills", nargs="+", metavar="NAME", help="its name, or the path of its file"
    )
