"""Writing a SKILL.md so that readers see the old or the new one, and nothing outside the root."""

import os
import stat
from pathlib import Path
from typing import Final

from synthorg_tui.skills.errors import SkillPathError, SkillWriteError
from synthorg_tui.skills.names import MAX_NAME, is_name

FILE_NAME: Final = "SKILL.md"
TEMPORARY_NAME: Final = ".SKILL.md.tmp"


def skill_path(root: Path, name: str) -> Path:
    """Where the skill's file belongs.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused to tell.
    """
    if not is_name(name):
        raise SkillPathError(
            f"{name!r} is no name for a skill's folder",
            remedy=f"Use at most {MAX_NAME} of a-z, 0-9 and single hyphens between them.",
        )
    folder = root / name
    path = folder / FILE_NAME
    for each, is_right in ((folder, stat.S_ISDIR), (path, stat.S_ISREG)):
        try:
            mode = each.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _refused(path, "reached", error) from error
        if not is_right(mode):
            kind = "folder" if each is folder else "file"
            raise SkillPathError(
                f"{each} is no plain {kind}", remedy="Remove it, or rename the skill."
            )
    return path


def write_skill(root: Path, name: str, content: str | bytes) -> Path:
    """Put the text, or the bytes of one, in the skill's file, durably and at once; the file's path.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused; what was there is unchanged.
    """
    path = skill_path(root, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(TEMPORARY_NAME)
        temporary.unlink(missing_ok=True)  # of a write that was killed
        try:
            with temporary.open("xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
        _sync_folder(root)
    except OSError as error:
        raise _refused(path, "written", error) from error
    return path


def remove_skill(root: Path, name: str) -> bool:
    """Remove the skill's file, and its folder when nothing else is in it; whether it was there.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused.
    """
    path = skill_path(root, name)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused(path, "removed", error) from error
    path.with_name(TEMPORARY_NAME).unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    _sync_folder(root)
    return True


def _sync_folder(folder: Path) -> None:
    """Make a rename or removal in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(path: Path, what: str, error: OSError) -> SkillWriteError:
    return SkillWriteError(
        f"{path} can't be {what}: {error.strerror or error}",
        remedy="Check the folder's permissions and the free space.",
    )
