"""Queries that everyday conversations hold nothing about."""

from synthorg_tui.memory.evaluation.questions import OTHER_FIELDS

_SOFTWARE = """
push a branch that has no upstream
kubernetes pod stuck in CrashLoopBackOff
docker compose network bridge error
rust borrow checker lifetime mismatch
postgres index bloat vacuum full
webpack bundle size treeshaking
TLS certificate chain verification failed
segmentation fault in malloc
python asyncio event loop closed
terraform state lock dynamodb
nginx reverse proxy websocket upgrade
mutex deadlock in goroutine
jwt token signature invalid
cron job timezone daylight saving
redis eviction policy maxmemory
sql injection prepared statement
merge conflict in package-lock.json
regex catastrophic backtracking
pytest fixture scope session
graphql n+1 resolver dataloader
"""

NONSENSE = {
    "other fields": list(OTHER_FIELDS),
    "software": _SOFTWARE.strip().splitlines(),
}
