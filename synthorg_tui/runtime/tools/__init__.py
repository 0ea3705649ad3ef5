"""The tools of an agent that runs here: files and a shell in its workspace, skills, policies.

Memory tools are its strategy's: ``registry_with_memory_tools`` adds them.
"""

from pathlib import Path

from synthorg_tui.core.confined import ConfinedFolder
from synthorg_tui.core.enums import SecurityVerdictType
from synthorg_tui.memory.tools import BaseTool
from synthorg_tui.runtime.interceptors import permission
from synthorg_tui.runtime.models import RunProfile
from synthorg_tui.runtime.tools.files import FILE_TOOLS, FileTool
from synthorg_tui.runtime.tools.shell import ShellTool


def workspace_tools(workspace: Path, profile: RunProfile) -> tuple[BaseTool, ...]:
    """Return the tools for a folder that a profile doesn't deny.

    Raises ``ConfinedPathError`` when it isn't a folder.
    """
    folder = ConfinedFolder(workspace)
    tools = (*(FileTool(folder, *declared) for declared in FILE_TOOLS), ShellTool(folder))
    denied = SecurityVerdictType.DENY
    return tuple(tool for tool in tools if permission(tool, profile).type is not denied)
