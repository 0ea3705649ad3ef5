"""``serve``: the engine without a screen."""

from synthorg_tui.cli.context import Context, cancelled_by_signal


async def run_serve(context: Context) -> int:
    """Own the store until Ctrl-C, until an app asks for it or, if wanted, until nobody is left."""
    from synthorg_tui.host.headless import serve

    def tell(_: object) -> None:
        context.console.note(f"serving {context.data_dir}; Ctrl-C ends it")

    with cancelled_by_signal(context.console) as cancellation:
        await serve(
            context.settings(),
            data_dir=context.data_dir,
            stop=cancellation.stop,
            until_idle=context.args.until_idle,
            on_ready=tell,
        )
        if cancellation.stop.is_set() and not cancellation.requested.is_set():
            context.console.note("the app asked for the store and has it now")
    return 0
