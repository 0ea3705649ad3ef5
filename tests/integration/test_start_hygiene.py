"""What an owner that is started for a first digest does, and what it leaves for later.

An agent waits for it, and nearly all of that time goes into what is imported.
"""

import json
import subprocess
import sys
from typing import Any


def told(program: str, *arguments: str) -> Any:
    """What a program prints as JSON, run by an interpreter of its own."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_settings_build_one_validator_and_only_when_there_is_something_to_validate() -> None:
    program = """
import json
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.settings.loader import load_settings

def built(model=FrozenModel):
    found = [model.__name__] if model.__pydantic_complete__ else []
    return found + [name for each in model.__subclasses__() for name in built(each)]

load_settings(environ={})
shipped = built()
load_settings(environ={"SYNTHORG__MEMORY__LEVEL": "none"})
print(json.dumps([shipped, built()]))
"""
    shipped, changed = told(program)
    assert shipped == []
    assert changed == ["RootConfig"]
