"""How long an agent waits for the digest that a hook hands it.

    python -m benchmarks.hooks --memories 100000 [--data-dir DIR]

Each hook is a process of its own, as the agent's program starts it: with nobody having the store
open, so that an owner is started first, and with one there. The time is that of the whole process,
from its start to its end. Stored vectors are synthetic, the question is embedded by the bundled
model.
"""

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
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.persistence.lock import DataDirLock

COLD = 7
WARM = 30
SETTLED = 3
HOOK = (sys.executable, "-m", "synthorg_tui", "hook", "claude-code", "UserPromptSubmit")


def hook(data_dir: Path, prompt: str) -> float:
    """Run one hook for a prompt and return its duration in milliseconds."""
    event = json.dumps({"prompt": prompt, "cwd": str(data_dir), "session_id": "1"})
    command = [*HOOK, "--data-dir", str(data_dir), "--agent", AGENT]
    started = time.perf_counter()
    subprocess.run(command, input=event, capture_output=True, text=True, check=True)
    return (time.perf_counter() - started) * 1_000


def given_up(data_dir: Path) -> int:
    """Return how many times hooks have logged that they gave the agent nothing."""
    log = data_dir / "hooks.log"
    return log.read_text(encoding="utf-8").count(" UserPromptSubmit: ") if log.exists() else 0


def end_owner(data_dir: Path) -> None:
    """End the process that owns the store, and wait until the store is free."""
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
    given_up_before = given_up(data_dir)
    for _ in range(COLD):
        cold.append(hook(data_dir, next(prompts)))
        end_owner(data_dir)
        time.sleep(1)
    hook(data_dir, next(prompts))
    time.sleep(SETTLED)
    warm = [hook(data_dir, next(prompts)) for _ in range(WARM)]
    end_owner(data_dir)
    late = given_up(data_dir) - given_up_before
    return [
        Row("nobody has the store open, median", statistics.median(cold), "ms"),
        Row("nobody has the store open, worst", max(cold), "ms", Limit("<=", 1_500)),
        Row("somebody has, median", statistics.median(warm), "ms"),
        Row("somebody has, p95", p95(warm), "ms", Limit("<=", 150)),
        Row("hooks that gave up", late, f"of {COLD + WARM}", Limit("<=", 0)),
        Row("load of the machine", os.getloadavg()[0], digits=1),
    ]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(options.data_dir or Path(scratch), options.memories)
    report = Report("hooks", {"memories": options.memories}, rows)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()
