"""Fixtures shared by all tests."""

import gc
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.persistence.port import Connection
from tests import REPO
from tests.patience import PATIENCE
from tests.postgres_server import postgres_server, postgres_url
from tests.postgres_switch import stores_on_postgres
from tests.rewriting import rewrite_tests

# How long an example takes says how busy the machine is, and the same tree passes or fails the
# same way: `make fuzz` is what looks for new examples.
settings.register_profile(
    "any machine",
    settings.default,
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", settings.get_profile("any machine"), derandomize=False, max_examples=1_000
)
settings.load_profile("any machine")

__all__ = ["postgres_server", "postgres_url", "stores_on_postgres"]

MEMORY = Path("/dev/shm")
ROOM = 12 * 2**30
"""Bytes of memory that must be free for the tests' files: they take 6 GB, the workers as much."""
GARBAGE_COLLECTIONS = 2
"""How often each worker collects at its end, which takes a second of two million objects each."""


@pytest.fixture(scope="session", autouse=True)
def home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the sessions and settings of the person who runs the tests out of them, and as they are.

    Owners that tests start follow the folders of agents in the home directory.
    """
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' files in memory where there is room: a new index waits long for a disk.

    The tests are a person's, also where a coding agent runs them. And Python keeps what it has
    compiled, whatever the environment says: hundreds of tests start the program anew.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    config.stash[gc_collect_iterations_key] = GARBAGE_COLLECTIONS
    for mark in AGENT_MARKS:
        os.environ.pop(mark, None)
    _draw_from_no_source(config)
    if _distributes_all(config):
        rewrite_tests(config)
    if MEMORY.is_dir() and min(shutil.disk_usage(MEMORY).free, _available_memory()) >= ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def _draw_from_no_source(config: pytest.Config) -> None:
    """Examples don't depend on the constants in modules that a worker happens to have loaded.

    Hypothesis would parse each of them in every worker. ``make fuzz`` has them.
    """
    if config.getoption("--hypothesis-profile") != "fuzz":
        providers._get_local_constants = lambda: providers._local_constants


def _distributes_all(config: pytest.Config) -> bool:
    """Whether this process starts workers that collect all tests."""
    is_all = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return is_all and bool(config.getoption("numprocesses", None))


def _available_memory() -> int:
    """Bytes that programs may take before the system ends one of them; 0 where it isn't told."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For ``-n auto``: a worker more than cores, since many tests wait for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take long, lest one worker is busy when the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Exclude all objects made so far from garbage collection, which would scan them each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Now it may go: DuckDB prints pages of leaks when what stayed isn't given back at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with real transcripts and evaluation data, which is not part of the repo."""
    path = Path(os.environ.get("SYNTHORG_SHARED", REPO.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"no evaluation data at {path}; set SYNTHORG_SHARED to its folder")
    return path


@pytest.fixture(scope="session", autouse=True)
def _owners_may_answer_late() -> Iterator[None]:
    """Wait for the greeting of an owner as for anything: how long it takes says how busy it is."""
    from synthorg_tui.host import client, owner

    with pytest.MonkeyPatch.context() as patch:
        for greeted in (client, owner):
            patch.setattr(greeted, "HELLO_TIMEOUT", PATIENCE)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_model_a_worker() -> Iterator[None]:
    """Load the bundled embedding model and its tokenizer once for all stores of this process."""
    from synthorg_tui.providers.embedding import onnx

    made = dict[tuple[object, ...], Any]()

    def once(load: Callable[[Any], Any], key: Callable[[Any], tuple[object, ...]]) -> Any:
        def share(embedder: onnx.MiniLMEmbedder) -> Any:
            wanted = key(embedder)
            if wanted not in made:
                made[wanted] = load(embedder)
            return made[wanted]

        return share

    model, tokenizer = onnx.MiniLMEmbedder._load_session, onnx.MiniLMEmbedder._load_tokenizer
    with pytest.MonkeyPatch.context() as patch:
        share_model = once(model, lambda each: (onnx.model_path(), each._threads))
        share_tokenizer = once(tokenizer, lambda each: (onnx.tokenizer_path(), each._max_tokens))
        patch.setattr(onnx.MiniLMEmbedder, "_load_session", share_model)
        patch.setattr(onnx.MiniLMEmbedder, "_load_tokenizer", share_tokenizer)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_computation_a_text() -> Iterator[None]:
    """Compute the vectors of a batch once for all tests that embed the same texts."""
    from synthorg_tui.providers.embedding import onnx

    compute, known = onnx.MiniLMEmbedder._compute, dict[tuple[Any, ...], Any]()

    def recall(embedder: onnx.MiniLMEmbedder, session: Any, feeds: dict[str, Any]) -> Any:
        key = tuple((name, each.shape, each.tobytes()) for name, each in feeds.items())
        if key not in known:
            known[key] = compute(embedder, session, feeds)
        return known[key].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx.MiniLMEmbedder, "_compute", recall)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_schema_a_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copy a new store's file from the first one, with an identity of its own.

    Thousands of tests open a new store, and creating its tables takes a third of that.
    """
    from synthorg_tui.persistence import database, database_file, migrations

    first = tmp_path_factory.mktemp("schema") / "first.duckdb"
    copies = set[Path]()

    def create(path: Path) -> None:
        if not first.exists():
            database_file.create_file(first)
        draft = path.with_name(path.name + ".new")
        shutil.copyfile(first, draft)
        draft.chmod(0o600)
        draft.rename(path)
        copies.add(path)

    def update(connection: Connection, path: Path) -> None:
        if path in copies:
            copies.remove(path)
            own = [secrets.token_hex(8), secrets.token_hex(16)]
            each = "CASE name WHEN 'epoch' THEN ? ELSE ? END"
            connection.execute(
                f"UPDATE meta SET value = {each} WHERE name IN ('epoch', 'salt')", own
            )
        migrations.update_schema(connection, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "create_file", create)
        patch.setattr(database, "update_schema", update)
        yield


@pytest.fixture(scope="session", autouse=True)
def _holes_stay_holes() -> Iterator[None]:
    """Reserve no blocks for the indexes of these stores, which would be 200 MB each.

    What reserving is for, a disk that fills up, is tested where a test makes such a disk, in a
    process of its own.
    """
    from synthorg_tui.memory.index import edge_files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_files, "fill_holes", lambda *_, **__: None)
        yield


class FixedClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.current = now

    def now(self) -> datetime:
        return self.current

    def advance(self, **delta: float) -> None:
        self.current += timedelta(**delta)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(autouse=True)
def _no_projects_of_other_tests() -> None:
    """Have no test tell projects apart by the store of another one."""
    from synthorg_tui.core.projects import ProjectMap, use_projects

    use_projects(ProjectMap())
