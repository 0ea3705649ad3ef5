"""A program that stands in for a coding agent: it plays a script and notes how it was started.

``python stand_in.py FOLDER WORDS...`` does what ``FOLDER/script.json`` lists, one act after the
other, and writes its words, input, folder and environment to ``FOLDER/seen.json``. Nothing but the
standard library, since it is started for each run.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main(folder: str, words: list[str]) -> int:
    """Play the script."""
    if words == ["--version"]:
        print(Path(folder, "version").read_text())
        return 0
    seen: dict[str, object] = {"words": words, "input": sys.stdin.read(), "folder": str(Path.cwd())}
    seen |= {"environ": dict(os.environ)}
    Path(folder, "seen.json").write_text(json.dumps(seen))
    for act, what in json.loads(Path(folder, "script.json").read_text()):
        if act == "exit":
            return int(what)
        play(act, what)
    return 0


def play(act: str, what: str) -> None:
    """Do one act; ``{cwd}`` in a text is the folder that the program runs in."""
    if act == "say":
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()
    elif act == "flood":
        sys.stdout.write("x" * int(what) + "\n")
        sys.stdout.flush()
    elif act == "complain":
        sys.stderr.write(what)
    elif act == "run":
        subprocess.run(what, shell=True, check=False, stdout=subprocess.DEVNULL)
    elif act == "leave":
        subprocess.Popen(what, shell=True, start_new_session=True, stdin=subprocess.DEVNULL)
    elif act == "sleep":
        time.sleep(float(what))
    elif act == "record":
        path, _, lines = what.partition("\n")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(lines.replace("{cwd}", str(Path.cwd())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
