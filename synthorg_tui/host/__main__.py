"""``python -m synthorg_tui.host DIR SECONDS [CONFIG]``: an owner that a program starts for itself.

It does what ``synthorg-tui serve --until-idle SECONDS`` does, without loading the command line:
an agent waits until the owner listens, and loading takes a twentieth of that time.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import starting
from synthorg_tui.core.text import safe_text


def main(arguments: Sequence[str]) -> int:
    """Own the store until no client is connected any more; return the exit code.

    That is 0, or the code of the error that ended it. Messages go to standard error; the last
    line is the error.
    """
    data_dir, seconds, *config = arguments
    starting()
    # Why it ended is what the log is for: a line for each memory that somebody wrote would hide it.
    logging.getLogger("synthorg_tui").addHandler(logging.NullHandler())
    try:
        asyncio.run(_serve(Path(data_dir), float(seconds), Path(config[0]) if config else None))
    except DomainError as error:
        words = f"{error.message.rstrip('.')}. {error.remedy}" if error.remedy else error.message
        _say(f"error: {words}")
        return error.exit_code
    except OSError as error:
        _say(f"error: {error}")
        return 1
    return 0


async def _serve(data_dir: Path, seconds: float, config: Path | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    from synthorg_tui.host.headless import serve
    from synthorg_tui.settings.loader import load_settings

    await serve(
        load_settings(config),
        data_dir=data_dir,
        stop=stop,
        until_idle=seconds,
        on_ready=lambda _: _say(f"process {os.getpid()} serves {data_dir}"),
    )


def _say(text: str) -> None:
    print(safe_text(text), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
