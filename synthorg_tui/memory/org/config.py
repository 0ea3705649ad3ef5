"""Configuration of organisation-wide memory."""

from typing import Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.org.access_control import WriteAccessConfig


class ExtendedStoreConfig(FrozenModel):
    """Settings of the searchable store of organisation facts."""

    backend: Literal["sqlite"] = "sqlite"
    max_retrieved_per_query: int = Field(default=5, ge=1, le=50)


class OrgMemoryConfig(FrozenModel):
    """Settings of organisation memory: policies given to every agent, and searchable facts.

    ``policy_tokens`` is how many tokens of a digest policies may take, whatever else fits.
    """

    backend: Literal["hybrid_prompt_retrieval"] = "hybrid_prompt_retrieval"
    core_policies: tuple[NotBlankStr, ...] = ()
    policy_tokens: int = Field(default=500, ge=0, le=100_000)
    extended_store: ExtendedStoreConfig = ExtendedStoreConfig.model_construct()
    write_access: WriteAccessConfig = Field(default_factory=WriteAccessConfig.model_construct)
