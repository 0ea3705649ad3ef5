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


def test_settings_are_validated_by_one_validator_built_when_they_are_loaded() -> None:
    program = """
import json
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.settings.loader import load_settings

def built(model=FrozenModel):
    found = [model.__name__] if model.__pydantic_complete__ else []
    return found + [name for each in model.__subclasses__() for name in built(each)]

imported = built()
load_settings(environ={})
print(json.dumps([imported, built()]))
"""
    imported, loaded = told(program)
    assert imported == []
    assert loaded == ["RootConfig"]
