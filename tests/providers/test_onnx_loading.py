"""ONNX Runtime is loaded while another thread loads NumPy."""

import subprocess
import sys
import textwrap

LOADING = textwrap.dedent(
    """
    import sys, threading, time
    from concurrent.futures import Future
    from importlib import import_module
    from synthorg_tui.providers.onnx import load_runtime

    def halfway(event, args):
        "Start the other import when NumPy is half imported, and go on when that can't."
        if event == "import" and args[0] == "numpy.__config__" and not other.ident:
            other.start()
            while other.is_alive() and not waits(other.ident):
                time.sleep(0.001)

    def waits(thread):
        frame = sys._current_frames().get(thread)
        return frame is not None and frame.f_code.co_name == "acquire"

    loaded = Future()

    def load():
        try:
            loaded.set_result(load_runtime())
        except BaseException as error:
            loaded.set_exception(error)

    other = threading.Thread(target=load)
    sys.addaudithook(halfway)
    print(import_module("numpy").__name__, loaded.result().__name__)
    """
)


def test_it_waits_for_a_numpy_that_another_thread_imports() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=False
    )
    assert (ran.stdout.split(), ran.returncode) == (["numpy", "onnxruntime"], 0), ran.stderr
