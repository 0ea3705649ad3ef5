"""What importing the app may load: nothing of the engine."""

import subprocess
import sys

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
    "synthorg_tui.memory",
    "synthorg_tui.ingest",
    "synthorg_tui.settings",
)


def test_importing_the_app_loads_nothing_of_the_engine() -> None:
    program = "import sys, synthorg_tui.tui.app, synthorg_tui.tui.desk; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & set(FORBIDDEN)


def test_view_models_load_no_textual() -> None:
    names = [
        "detail",
        "digest",
        "digest_lines",
        "knobs",
        "scenarios",
        "export",
        "importing",
        "ink",
        "listing",
        "query",
        "rows",
        "window",
        "clockwork",
    ]
    program = "import sys, " + ", ".join(f"synthorg_tui.tui.view_models.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "textual" not in done.stdout.split()
