"""What importing the app may load: of the engine only plain data, and nothing that is slow."""

import os
import subprocess
import sys
from pathlib import Path

FORBIDDEN = (
    "duckdb",
    "qdrant_edge",
    "qdrant_client",
    "llama_cpp",
    "onnxruntime",
    "mcp",
    "watchfiles",
    "pydantic",
    "numpy",
    "synthorg_tui.engine",
    "synthorg_tui.executions",
    "synthorg_tui.ingest.service",
    "synthorg_tui.memory.models",
    "synthorg_tui.memory.store",
    "synthorg_tui.settings",
)


def test_importing_the_app_loads_nothing_of_the_engine() -> None:
    program = "import sys, synthorg_tui.tui.app, synthorg_tui.tui.engine_host; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & set(FORBIDDEN)


def test_listing_the_store_loads_no_models_and_no_settings(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.memory.listing import BrowseFilter

async def look():
    host = LocalEngineHost(data_dir=Path({str(tmp_path)!r}))
    shelf = await host.look()
    await shelf.facets()
    await shelf.browse(BrowseFilter(), sort="newest", offset=0, limit=300)
    await host.close()

asyncio.run(look())
print(*sys.modules)
"""
    empty = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=empty
    )
    loaded = set(done.stdout.split())
    assert "synthorg_tui.memory.store.reader" in loaded
    assert not loaded & {"pydantic", "yaml", "numpy", "qdrant_edge", "synthorg_tui.engine"}


def test_only_the_bridge_process_loads_the_mcp_sdk() -> None:
    """And that only once it has an owner starting beside it."""
    names = ["cli.runner", "cli.commands.mcp", "mcp.bridge", "engine", "host.headless"]
    program = "import sys, " + ", ".join(f"synthorg_tui.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(done.stdout.split()) & {"mcp", "mcp_types", "uvicorn", "starlette"}


def test_importing_the_app_loads_no_pane_but_the_first_and_none_of_its_dialogs() -> None:
    program = "import sys, synthorg_tui.tui.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    panes = {
        f"synthorg_tui.tui.{name}.screen"
        for name in ("digest", "skills", "approvals", "activity", "organisation")
    }
    dialogs = {f"synthorg_tui.tui.{name}" for name in ("base.dialogs", "memories.dialogs")}
    assert not loaded & (panes | dialogs | {"synthorg_tui.core.redaction"})


def test_panes_that_show_the_engines_data_load_nothing_of_it_before_there_is_some() -> None:
    names = ["digest.dialogs", "digest.scenarios", "digest.screen", "skills.screen"]
    names += ["organisation.screen", "organisation.form"]
    program = "import sys, " + ", ".join(f"synthorg_tui.tui.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"pydantic", "duckdb", "numpy", "qdrant_edge", "synthorg_tui.engine"}
    assert not set(done.stdout.split()) & heavy


def test_view_models_load_no_textual() -> None:
    names = [
        "activity.lines",
        "activity.state",
        "approvals.lines",
        "approvals.review_lines",
        "approvals.state",
        "approvals.wording",
        "base.filters",
        "base.formatting",
        "base.lines",
        "base.window",
        "digest.lines",
        "digest.notices",
        "digest.options",
        "digest.scenario_lines",
        "digest.state",
        "memories.detail",
        "memories.changes",
        "memories.lines",
        "memories.state",
        "organisation.detail",
        "organisation.lines",
        "organisation.state",
        "skills.lines",
        "skills.state",
    ]
    program = "import sys, " + ", ".join(f"synthorg_tui.tui.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "textual" not in done.stdout.split()
