"""Made-up sessions of Claude Code, small and all different, for measuring imports."""

import json
import random
from pathlib import Path

from benchmarks.synthetic import vocabulary

PROJECTS = 20


def write_sessions(folder: Path, count: int, *, seed: int = 7) -> list[Path]:
    """Write that many transcripts below ``folder`` and return their paths."""
    chosen = random.Random(seed)
    words = vocabulary()
    paths = []
    for number in range(count):
        path = folder / f"project-{number % PROJECTS}" / f"{_session_id(number)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(number, chosen, words)))
        paths.append(path)
    return paths


def remembered(number: int) -> str:
    """What the person said in a session, which every import of it makes a memory of."""
    return f"the broker of service {number} listens on port {10_000 + number}"


def _session_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def _lines(number: int, chosen: random.Random, words: list[str]) -> list[dict[str, object]]:
    topic = " ".join(chosen.sample(words, 6))
    call = f"toolu_{number}"
    failed = {"type": "tool_result", "tool_use_id": call, "content": f"no {topic}"}
    said = [
        ("user", f"Remember: {remembered(number)}. Then look at {topic}."),
        ("assistant", [_call(call, f"make {topic.split()[0]}")]),
        ("user", [failed | {"is_error": True}]),
        ("assistant", [_call(f"{call}b", f"make {topic.split()[0]} --force")]),
        ("user", [failed | {"tool_use_id": f"{call}b", "content": "ok"}]),
        ("assistant", [{"type": "text", "text": f"Done: {topic} builds with --force."}]),
    ]
    return [
        {
            "type": role,
            "uuid": f"{number}-{at}",
            "parentUuid": f"{number}-{at - 1}" if at else None,
            "sessionId": _session_id(number),
            "cwd": f"/srv/project-{number % PROJECTS}",
            "timestamp": f"2026-03-{1 + number % 28:02d}T10:{at:02d}:00.000Z",
            "version": "2.0.0",
            "message": {"role": role, "content": content},
        }
        for at, (role, content) in enumerate(said)
    ]


def _call(call: str, command: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
