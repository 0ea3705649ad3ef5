"""What becomes of a store when its process is killed, or its disk is full, at any file operation.

    python -m benchmarks.faults [--points 100] [--fillings 10]

Ten acts (store, import, edit, remove, purge, approve, undo, backup, reindex, restore) are each done
on a copy of one store, once for every chosen operation on its files: the process is killed right
before it, and, in another run, there is no space left from it on. A preloaded library does that to
every write, sync, rename and deletion, those of DuckDB and Qdrant Edge included; it is compiled for
the run and needs ``gcc``. Writes through memory maps can't be caught. For these a file system in
memory and one on a loop device are really filled; this needs root on Linux and is left out
elsewhere.

*Lost* is a run after which something acknowledged isn't there, *half* one after which the store is
neither as before the act nor as after it, or ``doctor`` finds fault. *Stuck* is a process that
can't store and find a memory once there is room, without being started anew.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeAlias

from benchmarks.table import Limit, Report, Row, command_line, print_report

HERE = Path(__file__).parent
ACTS = (
    "store", "import", "edit", "remove", "purge", "approve", "undo", "backup", "reindex", "restore",
)  # fmt: skip
SEED = 20260101
NONE = Limit("<=", 0)
DISK_MB = 400
FILL = "from benchmarks.filling import run; run()"
JUDGED = ("memories", "removed", "skills", "files", "items")
AFTERWARDS = "bench: stored afterwards"


Undisturbed: TypeAlias = dict[str, tuple[int, dict[str, Any]]]
"""For each act how many operations on files it takes, and what is true of the store after it."""


class Workshop:
    """A process that does jobs in children of its own, with the fault library preloaded."""

    def __init__(self, folder: Path) -> None:
        library = folder / "faults.so"
        source = str(HERE / "faults.c")
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True
        )
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.fault_acts import work; work()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "LD_PRELOAD": str(library), "HOME": str(folder)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def do(self, what: str, folder: Path, **more: Any) -> dict[str, Any]:
        """Have one job done; the answer has the exit code of its process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"what": what, "folder": str(folder), **more}), file=self._process.stdin)
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def copy(self, template: Path) -> Path:
        """Return a fresh copy of a store, with its holes."""
        target = self._folder / "data"
        subprocess.run(["rm", "-rf", str(target)], check=True)
        subprocess.run(["cp", "-r", "--sparse=always", str(template), str(target)], check=True)
        return target

    def outline(self, act: str, folder: Path) -> dict[str, Any]:
        """Return what is true of a store; an import that was cut short goes on first."""
        return self.do("outline", folder, imports=act == "import")


def verdicts(
    act: str,
    told: dict[str, Any],
    before: dict[str, Any],
    after: dict[str, Any],
    now: dict[str, Any],
) -> Iterator[str]:
    """What is wrong after a run: ``lost``, ``half``, ``signal``, ``stuck``."""
    killed = told["code"] == -9
    if told["code"] and not killed:
        yield "signal"
    if now["code"] or now["faults"] or not all(now["backups"]):
        yield "half"
        return
    if not killed and act != "restore":
        if not told["goes on"]:
            yield "stuck"
        elif AFTERWARDS not in now["memories"]:
            yield "lost"
    state = {key: [each for each in now[key] if each != AFTERWARDS] for key in JUDGED}
    done = [{key: each[key] for key in JUDGED} for each in (before, after)]
    if state not in done:
        yield "half"
    elif not killed and not told["error"]:
        whole = state == done[1] and len(now["backups"]) == len(after["backups"])
        if not whole:
            yield "lost"


def undisturbed(workshop: Workshop, template: Path, acts: Sequence[str]) -> Undisturbed:
    """Do every act once as it should be: the number of its operations, and what is true then."""
    done: Undisturbed = {}
    for act in acts:
        data = workshop.copy(template)
        counted = workshop.do(act, data, at=-1, kills=False)
        after = workshop.outline(act, data)
        assert not counted["error"], counted
        assert not after["faults"], after
        memories = [each for each in after["memories"] if each != AFTERWARDS]
        done[act] = counted["operations"], {**after, "memories": memories}
    return done


def chosen(done: Undisturbed, points: int) -> list[tuple[str, int]]:
    """Operations by chance, of all acts in turn; those with few take part with all they have."""
    choose = random.Random(SEED)
    left = {act: choose.sample(range(1, count + 1), count) for act, (count, _) in done.items()}
    in_turn = [(act, left[act].pop()) for _ in range(points) for act in done if left[act]]
    return sorted(in_turn[:points], key=lambda point: ACTS.index(point[0]))


def injected(workshop: Workshop, folder: Path, points: int, note: Any) -> Counter[str]:
    """Do the acts at every chosen operation, killed and without space; count what went wrong."""
    template, found = folder / "template", Counter[str]()
    assert workshop.do("prepare", template)["code"] == 0
    before = {act: workshop.outline(act, workshop.copy(template)) for act in ACTS[: min(points, 2)]}
    done = undisturbed(workshop, template, ACTS[:points])
    found["operations"] = sum(count for count, _ in done.values())
    for act, at in chosen(done, points):
        for kills in (True, False):
            data = workshop.copy(template)
            told = workshop.do(act, data, at=at, kills=kills)
            now = workshop.outline(act, data)
            kind = "kill" if kills else "full"
            found[f"{kind} runs"] += 1
            earlier = before.get(act, before["store"])
            wrong = list(verdicts(act, told, earlier, done[act][1], now))
            for verdict in wrong:
                found[f"{kind} {verdict}"] += 1
            if wrong:
                note(f"{act} {kind} at {at}: {wrong} {told} {now.get('faults')}")
    return found


@contextmanager
def small_disk(kind: str, folder: Path) -> Iterator[Path]:
    """Yield a folder on a small file system of its own, which is unmounted afterwards."""
    place, image = folder / kind, folder / "image"
    place.mkdir()
    what = ["-t", "tmpfs", "-o", f"size={DISK_MB}m", "none"]
    if kind == "ext4":
        with image.open("wb") as file:
            file.truncate(DISK_MB * 1024 * 1024)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        what = ["-o", "loop", str(image)]
    subprocess.run(["mount", *what, str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()
        image.unlink(missing_ok=True)


def filled(kind: str, times: int, note: Any) -> Counter[str]:
    """Use a store on a disk that is really full; count signals and what went wrong."""
    found = Counter[str]()
    for seed in range(times):
        with tempfile.TemporaryDirectory() as folder, small_disk(kind, Path(folder)) as place:
            command = [sys.executable, "-c", FILL, str(place), str(seed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        found["signals"] += done.returncode < 0
        if done.returncode:
            found["failed"] += 1
            note(f"{kind} {seed}: {done.returncode} {done.stderr[-300:]}")
            continue
        told = json.loads(done.stdout)
        found["lost"] += bool(told["lost"])
        found["half"] += bool(told["faults"] or told["unfound"])
        found["stuck"] += any(told["room again"].values())
        if told["lost"] or told["faults"] or told["unfound"] or any(told["room again"].values()):
            note(f"{kind} {seed}: {told}")
    return found


def may_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


def rows(points: Counter[str], fillings: dict[str, Counter[str]]) -> Iterator[Row]:
    yield Row("operations on files in ten acts", points["operations"])
    for kind, label in (("kill", "killed"), ("full", "no space left")):
        yield Row(f"{label}: runs", points[f"{kind} runs"])
        for verdict in ("lost", "half", *(("signal", "stuck") if kind == "full" else ())):
            yield Row(f"{label}: {verdict}", points[f"{kind} {verdict}"], hold=NONE)
    for name, found in fillings.items():
        for verdict in ("signals", "failed", "lost", "half", "stuck"):
            yield Row(f"{name} really full: {verdict}", found[verdict], hold=NONE)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--points", type=int, default=100, help="operations to fail at, in all")
    parser.add_argument("--fillings", type=int, default=10, help="fillings of each file system")
    args = parser.parse_args()

    def note(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        workshop = stack.enter_context(Workshop(Path(name)))
        found = injected(workshop, Path(name), args.points, note)
    fillings = {}
    if may_mount():
        fillings = {kind: filled(kind, args.fillings, note) for kind in ("tmpfs", "ext4")}
    else:
        note("filling a disk needs root on Linux; it is left out")
    parameters = {"points": args.points, "fillings": args.fillings if fillings else 0}
    report = Report("faults", parameters, list(rows(found, fillings)))
    print_report(report, as_json=args.json)
    return int(report.missed)


if __name__ == "__main__":
    sys.exit(main())
