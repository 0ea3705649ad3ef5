"""Writing a SKILL.md so that readers see the old or the new one, and nothing outside the root."""

import stat
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import remove_drafts, sync, write_atomically
from synthorg_tui.skills.errors import SkillPathError, SkillWriteError
from synthorg_tui.skills.names import MAX_NAME, is_name

FILE_NAME: Final = "SKILL.md"


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
        data = content.encode() if isinstance(content, str) else content
        write_atomically(path, data, mode=None)
        sync(root)
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
    remove_drafts(path)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    sync(root)
    return True


def _refused(path: Path, what: str, error: OSError) -> SkillWriteError:
    return SkillWriteError(
        f"{path} can't be {what}: {error.strerror or error}",
        remedy="Check the folder's permissions and the free space.",
    )
