"""``docs/mcp.md`` says what the code does."""

from synthorg_tui.agents import tools
from synthorg_tui.mcp.document import document
from synthorg_tui.memory.strategies.schemas import MemoryTool
from tests import REPO

DOCS = REPO / "docs"


def test_the_document_is_current() -> None:
    assert (DOCS / "mcp.md").read_text("utf-8") == document(), (
        "python -m synthorg_tui.mcp.document > docs/mcp.md"
    )


def test_every_tool_has_a_section() -> None:
    headings = {line[4:] for line in document().splitlines() if line.startswith("### ")}
    own = (*tools.definitions(), *tools.definitions(administrator=True))
    named = {each.name for each in own} | {each.value for each in MemoryTool}
    assert headings == named | {"search_memory", "recall_memory"}
