"""Plans the file changes of connecting and disconnecting, and writes them once a person agreed.

Planning writes nothing and returns the exact bytes, so that a person sees exactly what will be
written; a file that changed after it was planned isn't touched. How a file is edited is in
``edits``, the list of files in ``clients``, the record of earlier changes in ``records``.
"""

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.connect import skills
from synthorg_tui.connect.clients import (
    Client,
    ClientPlaces,
    ConfigScope,
    ServerCommand,
    Target,
    hooks_target,
    known_hooks,
)
from synthorg_tui.connect.edits import Edit, missing_hooks
from synthorg_tui.connect.errors import ClientConfigError
from synthorg_tui.connect.records import FileRecord, Records, SkillsRecord
from synthorg_tui.connect.skills import PlacedSkills
from synthorg_tui.core.files import (
    FileTooLargeError,
    NotPlainFileError,
    read_plain,
    write_atomically,
)

MAX_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileChange:
    """A planned change of a file: its bytes before and after; ``None`` means no file.

    ``base`` is the file without this program's entries, as disconnecting will restore it.
    ``is_whole`` is false when others have changed the file since connecting, so that only this
    program's entries are removed instead of restoring the whole file.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    base: bytes | None
    record: FileRecord
    is_whole: bool = True

    @property
    def is_needed(self) -> bool:
        """Whether the planned bytes differ from those in the file."""
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the change as the lines of a unified diff, without line ends."""
        absent = "/dev/null"
        return [
            line.rstrip("\r\n")
            for line in difflib.unified_diff(
                (self.before or b"").decode(errors="replace").splitlines(keepends=True),
                (self.after or b"").decode(errors="replace").splitlines(keepends=True),
                absent if self.before is None else str(self.path),
                absent if self.after is None else str(self.path),
            )
        ]


class ClientInstaller:
    """Connects coding agents to one data directory, and disconnects them.

    First call ``plan`` or ``plan_removal``, show the result, then ``apply`` or ``apply_removal``.

    Args:
        data_dir: The data directory; records and backups are stored in it.
        where: The home folder and the project whose configuration is changed.
    """

    def __init__(self, data_dir: Path, where: ClientPlaces) -> None:
        self._where = where
        self._records = Records(data_dir)

    def plan(
        self, client: Client, scope: ConfigScope, call: ServerCommand, *, hooks: bool
    ) -> tuple[FileChange, ...]:
        """Return the file changes that connect a client; writes nothing.

        Without ``hooks``, those that were installed are left as they are; but when an earlier
        version installed them, the missing ones are added.
        Raises ``ClientConfigError`` when a file can't be read or changed.
        """
        self._require_inside(client.skills(self._where, scope), scope)
        targets = [(client.server(self._where, scope, call), False)]
        if client.has_hooks and (hooks or self._lacks_hooks(client, scope)):
            target = hooks_target(self._where, scope, call, known_hooks(self._where))
            targets.append((target, True))
        return tuple(
            self._addition(client, scope, target, is_hooks) for target, is_hooks in targets
        )

    def older_hooks(self, client: Client) -> dict[FileRecord, tuple[str, ...]]:
        """Return the files with hooks that an earlier version installed, and the events they lack.

        Files that can't be read, and events that the client is too old for, are left out.
        """
        lacking: dict[FileRecord, tuple[str, ...]] = {}
        for record in self._records.files:
            if record.client == client.name and record.is_hooks:
                with suppress(ClientConfigError):
                    lacking[record] = missing_hooks(_text(_read(Path(record.path))))
        known = known_hooks(self._where) if any(lacking.values()) else ()
        shared = {
            record: tuple(event for event in missing if event in known)
            for record, missing in lacking.items()
        }
        return {record: events for record, events in shared.items() if events}

    def plan_removal(self, client: Client, scope: ConfigScope | None) -> tuple[FileChange, ...]:
        """Return the file changes that disconnect a client; writes nothing.

        ``scope`` ``None`` means all scopes. Files without a record are searched in their usual
        places; one of those that can't be read raises ``ClientConfigError`` only if there is
        nothing else to change.
        """
        changes: dict[Path, FileChange] = {}
        problem: ClientConfigError | None = None
        for one in ConfigScope if scope is None else (scope,):
            targets = self._targets(client, one)
            for record in self._records.files_of(client.name, one):
                target = Target(Path(record.path), targets[record.is_hooks].edit)
                changes[target.path] = self._removal(target, record)
            for is_hooks, target in targets.items():
                try:
                    path = self._real(target.path, one)
                    unknown = FileRecord(client.name, one, str(path), is_hooks, "", "", ())
                    if path not in changes:
                        changes[path] = self._removal(Target(path, target.edit), unknown)
                except ClientConfigError as error:
                    problem = error
        planned = tuple(
            change for change in changes.values() if change.record.written or change.is_needed
        )
        if not planned and problem is not None:
            raise problem
        return planned

    def apply(self, changes: Iterable[FileChange]) -> None:
        """Back up the files, then write the changes of ``plan``.

        Raises ``ClientConfigError`` when a file changed since it was planned; then none is written.
        """
        needed = [change for change in changes if change.is_needed]
        for change in needed:
            _require_unchanged(change)
            self._records.add(change.record, change.base)
        self._records.save()
        for change in needed:
            _write(change)

    def apply_removal(self, changes: Iterable[FileChange]) -> None:
        """Write the changes of ``plan_removal`` and delete their records, one file at a time.

        Raises ``ClientConfigError`` at the first file that changed since it was planned.
        """
        for change in changes:
            _require_unchanged(change)
            if change.is_needed:
                _write(change)
            if change.after is None:
                _remove_empty(change.record.made)
            self._records.remove(change.path)
            self._records.save()

    def place_skills(
        self,
        client: Client,
        scope: ConfigScope,
        agent_id: str,
        sources: Sequence[Path],
        wanted: Mapping[str, str],
    ) -> tuple[Path, PlacedSkills]:
        """Link the ``wanted`` skills (SHA-256 by name) into the folder where the client looks.

        Of one name the first of the ``sources`` wins.

        ``refresh`` goes on doing so for the agent.
        """
        root = client.skills(self._where, scope)
        self._require_inside(root, scope)
        known = next((one for one in self._records.skills if one.root == str(root)), None)
        new_folders = known.made if known is not None else _missing(root)
        for record in self._records.skills:
            source = Path(record.source)
            if record.root == str(root) and source not in sources and not source.exists():
                skills.clear(source, root)  # links to where the store was before it was moved
        self._records.add_skills(
            [
                SkillsRecord(client.name, scope, agent_id, str(root), str(source), new_folders)
                for source in sources
            ]
        )
        self._records.save()
        return root, skills.as_one([skills.place(source, root, wanted) for source in sources])

    def clear_skills(
        self, client: Client, scope: ConfigScope | None
    ) -> dict[Path, tuple[str, ...]]:
        """Remove links to skills from the client's folders; return the removed names by folder.

        A folder that another connected client uses too is left as it is.
        """
        removed = self._records.remove_skills(client.name, scope)
        roots = {record.root for record in self._records.skills}
        cleared: dict[Path, tuple[str, ...]] = {}
        for record in removed:
            if record.root not in roots:
                root = Path(record.root)
                names = skills.clear(Path(record.source), root)
                cleared[root] = (*cleared.get(root, ()), *names)
                _remove_empty(record.made)
        self._records.save()
        return cleared

    def backup_path(self, change: FileChange) -> Path | None:
        """Return the path of the backup that ``apply`` made; ``None`` if there was no file."""
        record = self._records.file(change.path)
        return self._records.backup_path(record) if record and record.backup else None

    def _lacks_hooks(self, client: Client, scope: ConfigScope) -> bool:
        """Whether hooks that an earlier version installed in this scope lack some of today's."""
        older = [record.path for record in self.older_hooks(client) if record.scope == scope]
        nobody = ServerCommand((), (), (), client.name)
        return bool(older) and str(_target(hooks_target(self._where, scope, nobody).path)) in older

    def _addition(
        self, client: Client, scope: ConfigScope, target: Target, is_hooks: bool
    ) -> FileChange:
        path = self._real(target.path, scope)
        current, known = _read(path), self._records.file(path)
        with _naming(path):
            base, is_whole = self._original(known, current, target.edit)
            after = target.edit.added(_text(base)).encode()
        new_folders = known.made if known is not None else _missing(path.parent)
        digest = hashlib.sha256(after).hexdigest()
        record = FileRecord(client.name, scope, str(path), is_hooks, digest, "", new_folders)
        return FileChange(path, current, after, base, record, is_whole)

    def _removal(self, target: Target, record: FileRecord) -> FileChange:
        current = _read(target.path)
        with _naming(target.path):
            if record.written:
                base, is_whole = self._original(record, current, target.edit)
            else:
                base, is_whole = _without_ours(current, target.edit, None), False
        return FileChange(target.path, current, base, base, record, is_whole)

    def _targets(self, client: Client, scope: ConfigScope) -> dict[bool, Target]:
        """Server and hooks of a client, by whether they are hooks."""
        nobody = ServerCommand(("-",), (), (), client.name)
        targets = {False: client.server(self._where, scope, nobody)}
        if client.has_hooks:
            targets[True] = hooks_target(self._where, scope, nobody)
        return targets

    def _original(
        self, record: FileRecord | None, current: bytes | None, edit: Edit
    ) -> tuple[bytes | None, bool]:
        """The file as it was before ours came, and whether it is that byte for byte."""
        if record is None or current is None:
            return current, True
        backup = self._records.backup(record)
        if hashlib.sha256(current).hexdigest() == record.written or current == backup:
            return backup, True
        return _without_ours(current, edit, _text(backup)), False

    def _real(self, path: Path, scope: ConfigScope) -> Path:
        """The file itself: for a person who links to settings elsewhere, the link stays."""
        self._require_inside(path, scope)
        return _target(path)

    def _require_inside(self, path: Path, scope: ConfigScope) -> None:
        """A project may be a stranger's: its links can't send us out of it."""
        project = self._where.project.resolve()
        if scope is ConfigScope.PROJECT and not _target(path).is_relative_to(project):
            raise ClientConfigError(
                f"{path} leads out of the project", remedy="Remove the link, or use --user."
            )


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        problem = f"the links of {path} lead in a circle"
        raise ClientConfigError(problem, remedy="Remove them.") from None


def _read(path: Path) -> bytes | None:
    """The bytes of a file, whose links were followed; it may be a stranger's, and a pipe."""
    try:
        return read_plain(path, limit=MAX_BYTES)[0]
    except FileNotFoundError:
        return None
    except NotPlainFileError:
        raise ClientConfigError(f"{path} is no plain file", remedy="Remove it.") from None
    except FileTooLargeError:
        size = f"{MAX_BYTES // 1024 // 1024} MB"
        raise ClientConfigError(f"{path} is larger than {size}") from None


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise ClientConfigError(
            f"byte {error.start + 1:,} is not UTF-8", remedy="Save it as UTF-8; it wasn't touched."
        ) from None


def _without_ours(current: bytes | None, edit: Edit, before: str | None) -> bytes | None:
    if current is None or not current.strip():
        return current
    return edit.removed(_text(current), before).encode()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the name of the file before what is wrong with it."""
    try:
        yield
    except ClientConfigError as error:
        raise ClientConfigError(f"{path}: {error.message}", remedy=error.remedy) from None


def _require_unchanged(change: FileChange) -> None:
    if _read(change.path) != change.before:
        raise ClientConfigError(
            f"{change.path} changed meanwhile; it wasn't touched", remedy="Run the command again."
        )


def _write(change: FileChange) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.path.stat().st_mode & 0o7777 if change.before is not None else None
    write_atomically(change.path, change.after, mode=mode)


def _missing(folder: Path) -> tuple[str, ...]:
    """The folder and those above it that aren't there yet, outermost first."""
    missing = []
    while not folder.exists():
        missing.append(str(folder))
        folder = folder.parent
    return tuple(reversed(missing))


def _remove_empty(folders: Iterable[str]) -> None:
    for folder in reversed(tuple(folders)):
        path = Path(folder)
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
