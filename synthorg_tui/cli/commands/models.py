"""``models``: what is found, whether it works, and what it was used for."""

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

from synthorg_tui.cli.console import Console, plural
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.progress import ProgressLine
from synthorg_tui.core.paths import short_path

if TYPE_CHECKING:
    from synthorg_tui.persistence.usage import UsageTotal
    from synthorg_tui.providers.inspection import FoundModel, Measured

_DAYS = 30
_MEGABYTE = 1_000_000


async def run_list(context: Context) -> int:
    """List models, and the tokens of today and of the last 30 days."""
    from synthorg_tui.core.clock import SystemClock
    from synthorg_tui.providers.completion.usage import start_of_day
    from synthorg_tui.providers.inspection import find_models

    settings = context.settings()
    completion = settings.providers.completion
    limit = getattr(completion, "daily_token_limit", None)
    found = await find_models(completion, settings.embedding())
    today = start_of_day(SystemClock().now())
    async with context.engine() as engine:
        used_today = await engine.usage.tokens_since(today)
        used = await engine.usage.since(today - timedelta(days=_DAYS - 1))
    if context.wants_json:
        context.console.json(
            {
                "models": [_model_shape(each) for each in found],
                "usage": {
                    "today_tokens": used_today,
                    "daily_token_limit": limit,
                    "last_30_days": [dataclasses.asdict(each) for each in used],
                },
            }
        )
    else:
        _show_models(context.console, found)
        _show_usage(context.console, used_today, limit, used)
    return 0


async def run_check(context: Context) -> int:
    """Load the configured models and measure them; 1 when one doesn't work."""
    from synthorg_tui.providers.completion.config import NoModelConfig
    from synthorg_tui.providers.completion.factory import create_completion_provider
    from synthorg_tui.providers.embedding.factory import create_embedder
    from synthorg_tui.providers.inspection import measure_completion, measure_embedding

    settings = context.settings()
    context.console.note("loading the configured models")
    embedder = create_embedder(settings.embedding())
    measured = [await measure_embedding(embedder)]
    await embedder.close()
    if not isinstance(settings.providers.completion, NoModelConfig):
        with ProgressLine(context.console) as line:
            provider = create_completion_provider(
                settings.providers.completion, on_load=lambda share: _show_load(line, share)
            )
            measured.append(await measure_completion(provider))
            if provider is not None:
                await provider.close()
    works = not any(each.problem for each in measured)
    if context.wants_json:
        checks = [dataclasses.asdict(each) | {"purpose": each.purpose.value} for each in measured]
        context.console.json({"ok": works, "checks": checks})
    else:
        for each in measured:
            _show_measured(context.console, each)
    return 0 if works else 1


def _show_load(line: ProgressLine, share: float) -> None:
    if line.is_due:
        line.show(f"loading the language model, {share:.0%}")


def _model_shape(model: "FoundModel") -> dict[str, object]:
    return dataclasses.asdict(model) | {"purpose": model.purpose.value}


def _show_models(console: Console, found: "tuple[FoundModel, ...]") -> None:
    rows = [
        (
            each.purpose.value,
            each.name,
            "in use" if each.configured else "",
            f"{each.size / _MEGABYTE:,.0f} MB" if each.size is not None else "",
            each.problem or "ready",
            short_path(each.where),
        )
        for each in found
    ]
    console.table(("PURPOSE", "MODEL", "", "SIZE", "STATE", "WHERE"), rows)
    if not any(each.purpose.value == "completion" for each in found):
        console.note("No language model: lessons are worded without one.")


def _show_usage(
    console: Console, today: int, limit: int | None, used: "tuple[UsageTotal, ...]"
) -> None:
    allowed = f" of {limit:,} allowed" if limit is not None else ""
    console.line()
    console.line(f"today: {plural(today, 'token')}{allowed}")
    for each in used:
        cost = f", cost {each.cost:,.4f}" if each.cost else ""
        console.line(
            f"last {_DAYS} days, {each.model}: {plural(each.answers, 'answer')}, "
            f"{each.prompt_tokens:,} tokens read, {each.completion_tokens:,} written{cost}"
        )


def _show_measured(console: Console, measured: "Measured") -> None:
    if measured.problem:
        console.parts([("FAIL", "red"), (measured.purpose.value, "bold"), (measured.problem,)])
        return
    if measured.purpose.value == "embedding":
        speed = f"{measured.per_second:,.0f} texts per second"
    else:
        first = f"first token after {measured.first_seconds:.2f} s"
        speed = f"{first}, {measured.per_second:,.1f} tokens per second"
    loaded = f"loaded in {measured.load_seconds:.1f} s"
    console.parts([("ok  ", "green"), (measured.purpose.value, "bold"), (speed,), (loaded,)])
