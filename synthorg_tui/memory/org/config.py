"""Configuration of organisation-wide memory."""

from functools import partial
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.org.access_control import WriteAccessConfig

EMBEDDED_STORES: Final = ("sqlite", "duckdb")
"""Names of the store in this program's own database; the first is the documented one."""
MAX_RETENTION_DAYS: Final = 36_500


def _embedded(field: str, name: str) -> str:
    if name not in EMBEDDED_STORES:
        reject(
            field,
            name,
            f"there is no store {name!r}: facts are kept in the database of this program, which "
            f"both of {list(EMBEDDED_STORES)} name; persistence.backend says where that is",
        )
    return name


class ExtendedStoreConfig(FrozenModel):
    """Settings of the searchable store of organisation facts.

    ``backend`` has two names for one thing, the database that memories are in; see
    ``EMBEDDED_STORES``.
    """

    backend: Annotated[
        NotBlankStr, AfterValidator(partial(_embedded, "extended_store.backend"))
    ] = "sqlite"
    max_retrieved_per_query: int = Field(default=5, ge=1, le=50)


class OrgTemporalConfig(FrozenModel):
    """Settings of the backend ``temporal_kg``.

    Without ``track_changes`` it tells nothing of the past. Of what was replaced or retracted longer
    ago than ``history_retention_days`` it tells when and by whom, but not the words; ``None`` is no
    such bound. The log itself is whole in either case.
    """

    track_changes: bool = True
    history_retention_days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS)] | None = None


class OrgGraphConfig(FrozenModel):
    """Settings of the backend ``graph_rag``; its graph is derived, so that nothing is stored.

    ``store`` names where the facts are that it is drawn from. ``entity_extraction`` is ``auto``: by
    code, without a model.
    """

    store: Annotated[NotBlankStr, AfterValidator(partial(_embedded, "graph.store"))] = "sqlite"
    entity_extraction: Literal["auto"] = "auto"


class OrgMemoryConfig(FrozenModel):
    """Settings of organisation memory: policies given to every agent, and searchable facts.

    ``policy_tokens`` is how many tokens of a digest policies may take, whatever else fits.
    """

    backend: Literal["hybrid_prompt_retrieval", "temporal_kg", "graph_rag"] = (
        "hybrid_prompt_retrieval"
    )
    core_policies: tuple[NotBlankStr, ...] = ()
    policy_tokens: int = Field(default=500, ge=0, le=100_000)
    extended_store: ExtendedStoreConfig = ExtendedStoreConfig.model_construct()
    temporal: OrgTemporalConfig = OrgTemporalConfig.model_construct()
    graph: OrgGraphConfig = OrgGraphConfig.model_construct()
    watch_files: bool = True
    write_access: WriteAccessConfig = Field(default_factory=WriteAccessConfig.model_construct)
