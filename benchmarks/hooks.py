"""How long an agent waits for the digest that a hook hands it.

    python -m benchmarks.hooks --memories 100000 [--data-dir DIR]

Each hook is a process of its own, as the agent's program starts it: with nobody having the store
open, so that an owner is started first, and with one there. Counted from the start of the process
until it has ended. Stored vectors are synthetic, the question is embedded by the bundled model.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.scale import AGENT, p95, pack, questions
from benchmarks.synthetic import ensure_filled
from benchmarks.table import Row, print_table
from synthorg_tui.persistence.lock import DataDirLock

COLD = 7
WARM = 30
SETTLED = 3
HOOK = (sys.executable, "-m", "synthorg_tui", "hook", "claude-code", "UserPromptSubmit")


def hook(data_dir: Path, prompt: str) -> float:
    """Milliseconds that one hook takes."""
    event = json.dumps({"prompt": prompt, "cwd": str(data_dir), "session_id": "1"})
    command = [*HOOK, "--data-dir", str(data_dir), "--agent", AGENT]
    started = time.perf_counter()
    subprocess.run(command, input=event, capture_output=True, text=True, check=True)
    return (time.perf_counter() - started) * 1_000


def given_up(data_dir: Path) -> int:
    """How many hooks said why they gave the agent nothing, ever."""
    log = data_dir / "hooks.log"
    return log.read_text(encoding="utf-8").count(" UserPromptSubmit: ") if log.exists() else 0


def end_owner(data_dir: Path) -> None:
    """Have whoever owns the store leave, and wait until it has."""
    owner = json.loads((data_dir / "owner.lock").read_bytes() or b"null")
    if owner is None:
        return
    with suppress(ProcessLookupError):
        os.kill(owner["pid"], signal.SIGTERM)
    while True:
        with suppress(Exception), DataDirLock(data_dir):
            return
        time.sleep(0.05)


def measure(data_dir: Path, memories: int) -> list[Row]:
    asyncio.run(ensure_filled(data_dir, memories))
    asyncio.run(pack(data_dir))
    prompts = iter(questions(COLD + WARM + 1, seed=41))
    cold = []
    before = given_up(data_dir)
    for _ in range(COLD):
        cold.append(hook(data_dir, next(prompts)))
        end_owner(data_dir)
        time.sleep(1)
    hook(data_dir, next(prompts))
    time.sleep(SETTLED)
    warm = [hook(data_dir, next(prompts)) for _ in range(WARM)]
    end_owner(data_dir)
    late = given_up(data_dir) - before
    return [
        Row("nobody has the store open, median", f"{statistics.median(cold):.0f} ms"),
        Row("nobody has the store open, worst", *_held(max(cold), 1_500)),
        Row("somebody has, median", f"{statistics.median(warm):.0f} ms"),
        Row("somebody has, p95", *_held(p95(warm), 150)),
        Row("hooks that gave up", f"{late} of {COLD + WARM}", "0", late == 0),
    ]


def _held(milliseconds: float, bound: float) -> tuple[str, str, bool]:
    return f"{milliseconds:.0f} ms", f"<= {bound:.0f} ms", milliseconds <= bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(given.data_dir or Path(scratch), given.memories)
    print_table(f"a hook at {given.memories:,} memories, load {os.getloadavg()[0]:.1f}", rows)


if __name__ == "__main__":
    main()
