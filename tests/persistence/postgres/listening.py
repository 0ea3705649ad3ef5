"""Waits until programs listen for what others write to a store on a server."""

import psycopg

from tests.patience import until


async def listening(url: str, programs: int = 1) -> None:
    """Return once so many connections to the store have said ``LISTEN``."""

    def have_said() -> bool:
        with psycopg.connect(url) as raw:
            found = raw.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND state = 'idle' AND query LIKE 'LISTEN%'"
            ).fetchone()
        return found is not None and found[0] >= programs

    await until(have_said)
