"""Tables of cases that are walked by one test, which names each row that fails.

An item of pytest costs its collection in every worker, its fixtures and its report, which is more
than the call of a pure function that it is about. ``rows`` stands where ``parametrize`` would.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Failure = (Exception, pytest.fail.Exception, pytest.skip.Exception)
NAME_LENGTH = 120


def rows(
    names: str | Sequence[str],
    table: Iterable[Any],
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make one test that walks the table and names all the rows in which it fails.

    The parameters are those of ``pytest.mark.parametrize``; a row may be a ``pytest.param`` with an
    id, but has no marks. Each row has a ``tmp_path`` and a ``monkeypatch`` of its own; all other
    fixtures are shared by the rows, so that nothing may be left in them that the next row sees.
    A row that skips leaves the other rows alone; the test is skipped when none of them fails.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [_case(row, names, ids, number) for number, row in enumerate(table)]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def walk(*args: Any, **fixtures: Any) -> None:
            with _Walk(test, len(cases)) as walked:
                for number, (name, case) in enumerate(cases):
                    with walked.row(number, name, fixtures) as own:
                        test(*args, **own, **case)

        @functools.wraps(test)
        async def walk_async(*args: Any, **fixtures: Any) -> None:
            with _Walk(test, len(cases)) as walked:
                for number, (name, case) in enumerate(cases):
                    with walked.row(number, name, fixtures) as own:
                        await test(*args, **own, **case)

        walking: Any = walk_async if inspect.iscoroutinefunction(test) else walk
        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in names]
        walking.__signature__ = signature.replace(parameters=left)
        return walking  # type: ignore[no-any-return]

    return decorate


def _case(
    row: Any, names: list[str], ids: Callable[[Any], object] | Sequence[str] | None, number: int
) -> tuple[str, dict[str, Any]]:
    """Return what a row is called, and its values by the names of the columns."""
    own = ParameterSet.extract_from(row, force_tuple=len(names) == 1)
    assert not own.marks, f"a row has no marks: {row!r}"
    case = dict(zip(names, own.values, strict=True))
    if callable(ids):
        name = "-".join(str(ids(value)) for value in own.values)
    else:
        name = str(ids[number] if ids else own.id or _shown(case))
    return name, case


def _shown(case: dict[str, Any]) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in case.items())
    return shown if len(shown) <= NAME_LENGTH else shown[: NAME_LENGTH - 1] + "…"


class _Walk:
    """Collects the failures of the rows, and raises them at the end."""

    def __init__(self, test: Callable[..., Any], total: int) -> None:
        self.test = test.__name__
        self.total = total
        self.failed: dict[str, BaseException] = {}

    def __enter__(self) -> "_Walk":
        assert self.total, f"the table of {self.test} is empty"
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            return
        skipped = pytest.skip.Exception
        failed = {n: e for n, e in self.failed.items() if not isinstance(e, skipped)}
        if len(failed) > 1:
            raise BaseExceptionGroup(
                f"{len(failed)} of {self.total} rows failed: " + "; ".join(failed),
                list(failed.values()),
            )
        for first in (failed or self.failed).values():
            raise first

    def row(self, number: int, name: str, fixtures: dict[str, Any]) -> "_Row":
        return _Row(self, number, name, fixtures)


class _Row:
    """One row's own fixtures; what it raises is put down with its name."""

    def __init__(self, walk: _Walk, number: int, name: str, fixtures: dict[str, Any]) -> None:
        self.walk, self.number, self.name, self.fixtures = walk, number, name, dict(fixtures)
        self.own = ExitStack()

    def __enter__(self) -> dict[str, Any]:
        if "tmp_path" in self.fixtures:
            self.fixtures["tmp_path"] /= f"row{self.number}"
            self.fixtures["tmp_path"].mkdir()
        if "monkeypatch" in self.fixtures:
            patch = self.own.enter_context(pytest.MonkeyPatch.context())
            self.fixtures["monkeypatch"] = patch
        return self.fixtures

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.own.close()
        if not isinstance(error, Failure):
            return False
        name = self.name if self.name not in self.walk.failed else f"{self.number}: {self.name}"
        error.add_note(f"in row {self.number} of {self.walk.test}: {name}")
        self.walk.failed[name] = error
        return True
