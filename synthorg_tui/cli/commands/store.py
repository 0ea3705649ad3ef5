"""Commands about the store as a whole: ``doctor``, ``reindex``, backups."""

from synthorg_tui.cli.console import plural
from synthorg_tui.cli.context import Context, cancelled_by_signal
from synthorg_tui.cli.progress import CountProgress


async def run_doctor(context: Context) -> int:
    """Check the store; 1 when something is wrong that was not repaired."""
    async with context.engine() as engine:
        report = await engine.maintenance.doctor(fix=context.args.fix)
    if context.wants_json:
        checks = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in report.checks]
        context.console.json({"ok": report.ok, "checks": checks})
    else:
        width = max((len(check.name) for check in report.checks), default=0)
        for check in report.checks:
            mark = ("ok  ", "green") if check.ok else ("FAIL", "red")
            context.console.parts([mark, (check.name.ljust(width), "bold"), (check.detail,)])
        if not report.ok and not context.args.fix:
            context.console.note("`synthorg-tui doctor --fix` repairs what can be repaired")
    return 0 if report.ok else 1


async def run_reindex(context: Context) -> int:
    """Build the search index again from the database."""
    progress = CountProgress(context.console, "memories")
    async with context.own_engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, progress:
            count = await engine.maintenance.reindex(
                progress=progress, cancel=cancellation.requested
            )
    if context.wants_json:
        context.console.json({"reindexed": count})
    else:
        context.console.line(f"Indexed {plural(count, 'memory', 'memories')}.")
    return 0


async def run_backup(context: Context) -> int:
    """Copy the database while it is open."""
    async with context.engine() as engine:
        path = await engine.maintenance.backup(context.args.target)
    if context.wants_json:
        context.console.json({"path": str(path)})
    else:
        context.console.line(f"Backed up to {path}")
    return 0


async def run_restore(context: Context) -> int:
    """Put a backup in the place of the database."""
    from synthorg_tui.memory.store.maintenance import restore_backup

    restored = restore_backup(context.data_dir, context.args.backup)
    if context.wants_json:
        context.console.json({"path": str(restored)})
    else:
        context.console.line(f"Restored {restored}")
    return 0
