"""An engine for looking only makes no call that changes anything."""

from types import SimpleNamespace
from typing import cast

import pytest

from synthorg_tui.host.calls import CALLS
from synthorg_tui.host.client import OwnerConnection, RemoteEngine
from synthorg_tui.host.errors import RefusedError
from synthorg_tui.settings.loader import shipped_settings
from tests.tables import rows

CHANGES = [
    (group, method)
    for group in sorted({*CALLS.groups} - {"engine"})
    for method in sorted(CALLS.groups[group].changes)
]


def reading() -> RemoteEngine:
    nobody = cast("OwnerConnection", SimpleNamespace(owner=None))  # any call made would fail
    why = "open in another terminal (pts/3, since 14:02)"
    return RemoteEngine(nobody, shipped_settings(), read_only=why)


@rows(
    ("group", "method"),
    [*CHANGES, ("reviews", "approve"), ("reviews", "undo"), ("secrets", "redact")],
)
async def test_what_changes_is_refused_before_it_is_asked(group: str, method: str) -> None:
    call = getattr(getattr(reading(), group), method)
    with pytest.raises(RefusedError, match=r"pts/3, since 14:02"):
        await call("anything", person=None)


async def test_there_are_no_other_parts_than_those_of_a_client() -> None:
    engine = reading()
    assert engine.settings.memory.backend == "local"
    with pytest.raises(AttributeError):
        _ = engine.ledger


@rows("name", [name for name in CALLS if name.startswith("organisation.")])
def test_every_call_on_the_organisation_can_cross_the_wire(name: str) -> None:
    assert CALLS[name].result.json_schema(mode="serialization")
