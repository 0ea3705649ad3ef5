"""Finding where in the listing of everything a memory stands."""

from synthorg_tui.tui.ports import Criteria, MemoryDesk, MemoryRow, Page
from synthorg_tui.tui.view_models.window import WINDOW


async def page_around(desk: MemoryDesk, row: MemoryRow) -> Page | None:
    """The page of all memories, newest first, that holds this one; ``None`` when it is gone.

    As many memories are at least as new as it, so that is about where it stands.
    """
    newer = await desk.page(Criteria(since=row.created_at), sort="newest", offset=0, limit=1)
    offset = max(newer.total - WINDOW // 2, 0)
    page = await desk.page(Criteria(), sort="newest", offset=offset, limit=WINDOW)
    return page if any(each.id == row.id for each in page.rows) else None
