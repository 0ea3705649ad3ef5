"""``models``: lists embedding and language models with their usage, and tests whether they work.

How well embedding models find memories is measured in ``models_evaluate``, and fitting one to them
is in ``models_tune``.
"""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import models_evaluate, models_tune
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.output import BLANK, Answer, Note, Parts, ProgressLine, Table, View
from synthorg_tui.cli.records import plain
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.persistence.usage import UsageTotal
    from synthorg_tui.providers.inspection import FoundModel, Measured

_DAYS = 30
_MEGABYTE = 1_000_000


@Command(
    "list",
    "list the models found, and what they were used for",
    more="Servers are looked for\non this machine only, besides those in the settings.",
).runs
async def list_models(context: Context) -> Answer:
    """List the models, and the tokens used today and in the last 30 days."""
    from synthorg_tui.core.clock import SystemClock
    from synthorg_tui.providers.completion.usage import start_of_day
    from synthorg_tui.providers.inspection import find_models

    settings = context.settings()
    completion = settings.providers.completion
    limit = getattr(completion, "daily_token_limit", None)
    models = await find_models(completion, settings.embedding(), settings.providers.reranking)
    today = start_of_day(SystemClock().now())
    async with context.engine() as engine:
        used_today = await engine.usage.tokens_since(today)
        used = await engine.usage.since(today - timedelta(days=_DAYS - 1))
    allowed = f" of {limit:,} allowed" if limit is not None else ""
    return Answer(
        {
            "models": [plain(asdict(model) | {"purpose": model.purpose}) for model in models],
            "usage": {
                "today_tokens": used_today,
                "daily_token_limit": limit,
                "last_30_days": [asdict(total) for total in used],
            },
        },
        [
            _models_view(models),
            BLANK,
            f"today: {counted(used_today, 'token')}{allowed}",
            *map(_usage_words, used),
        ],
    )


@Command(
    "check",
    "load the configured models and measure them",
    more="Exits with 1 when one\ndoesn't work.",
).runs
async def check(context: Context) -> Answer:
    """Load the configured models and time them; return 1 when one doesn't work, else 0."""
    from synthorg_tui.providers.completion.config import NoModelConfig
    from synthorg_tui.providers.completion.factory import create_completion_provider
    from synthorg_tui.providers.embedding.factory import create_embedder
    from synthorg_tui.providers.inspection import (
        measure_completion,
        measure_embedding,
        measure_reranking,
    )
    from synthorg_tui.providers.reranking.cross_encoder import create_cross_encoder

    settings = context.settings()
    context.console.note("loading the configured models")
    embedder = create_embedder(settings.embedding())
    measured = [await measure_embedding(embedder)]
    await embedder.close()
    if (encoder := create_cross_encoder(settings.providers.reranking)) is not None:
        measured.append(await measure_reranking(encoder))
        await encoder.close()
    if not isinstance(settings.providers.completion, NoModelConfig):
        with ProgressLine(context.console) as line:
            provider = create_completion_provider(
                settings.providers.completion,
                on_load=lambda share: line.update(f"loading the language model, {share:.0%}"),
            )
            measured.append(await measure_completion(provider))
            if provider is not None:
                await provider.close()
    works = not any(model.problem for model in measured)
    checks = [plain(asdict(model) | {"purpose": model.purpose}) for model in measured]
    view = map(_measured_view, measured)
    return Answer({"ok": works, "checks": checks}, view, code=0 if works else 1)


def _models_view(models: "tuple[FoundModel, ...]") -> View:
    rows = [
        (
            model.purpose.value,
            model.name,
            "in use" if model.configured else "",
            f"{model.size / _MEGABYTE:,.0f} MB" if model.size is not None else "",
            model.problem or "ready",
            short_path(model.where),
        )
        for model in models
    ]
    return (
        Table(("PURPOSE", "MODEL", "", "SIZE", "STATE", "WHERE"), rows),
        not any(model.purpose.value == "completion" for model in models)
        and Note("No language model: lessons are worded without one."),
    )


def _usage_words(total: "UsageTotal") -> str:
    cost = f", cost {total.cost:,.4f}" if total.cost else ""
    return (
        f"last {_DAYS} days, {total.model}: {counted(total.answers, 'answer')}, "
        f"{total.prompt_tokens:,} tokens read, {total.completion_tokens:,} written{cost}"
    )


def _measured_view(measured: "Measured") -> View:
    purpose = measured.purpose.value
    if measured.problem:
        return Parts([("FAIL", "red"), (purpose, "bold"), (measured.problem,)])
    texts = f"{measured.per_second:,.0f} texts per second"
    first = f"first token after {measured.first_seconds:.2f} s"
    speeds = {"reranking": f"{texts} with a question", "embedding": texts}
    speed = speeds.get(purpose, f"{first}, {measured.per_second:,.1f} tokens per second")
    loaded = f"loaded in {measured.load_seconds:.1f} s"
    return Parts([("ok  ", "green"), (purpose, "bold"), (speed,), (loaded,)])


GROUP: Final = Command(
    "models",
    examples=("models list", "models check", "models evaluate", "models tune"),
    commands=(list_models, check, models_evaluate.evaluate, *models_tune.DECLARED),
)
