"""Transcripts: finding them, reading them, and turning them into executions and memories."""

from pathlib import Path

from pydantic import field_validator

from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject


class IngestConfig(FrozenModel):
    """Whether what agents write is imported by itself, and from where.

    ``places`` are names of readers, each standing for its usual places, and paths of folders or
    files. Without any, all usual places are followed. ``commands`` say what a project's
    commands are for (``check: bin/verify``), or which only start another one (``starts: in-box``).
    """

    follow: bool = True
    places: tuple[NotBlankStr, ...] = ()
    commands: tuple[NotBlankStr, ...] = ()

    @field_validator("commands")
    @classmethod
    def _reject_unreadable_commands(cls, commands: tuple[str, ...]) -> tuple[str, ...]:
        if commands:
            from synthorg_tui.executions.programs import read_own  # here: most settings name none

            for command in commands:
                try:
                    read_own(command)
                except ValueError as error:
                    reject("commands", command, str(error))
        return commands

    @field_validator("places")
    @classmethod
    def _reject_unknown_places(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        if not places:
            return places
        from synthorg_tui.ingest.readers import READERS  # here: most settings name none

        names = sorted(reader.name for reader in READERS)
        for place in places:
            if not _is_path(place) and place not in names:
                reject("places", place, f"neither a path nor one of {', '.join(names)}")
        return places

    def folders(self) -> tuple[Path, ...]:
        """Return the places that are paths, with ``~`` expanded."""
        return tuple(expand_home(Path(place)) for place in self.places if _is_path(place))


def _is_path(place: str) -> bool:
    return "/" in place or place.startswith("~")
