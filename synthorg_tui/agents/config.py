"""Configuration of what connected agents may do."""

from typing import Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel


class AgentAccessConfig(FrozenModel):
    """What agents may do that are connected over MCP or hooks.

    ``writes`` off lets them only read; with ``approval`` what they write and delete waits for a
    person. An agent may write ``writes_per_minute`` memories, and as many at once after a pause.
    ``digest_token_budget`` is for those that don't name a budget; ``audit_calls`` is how many
    calls are kept for the record.
    """

    writes: Literal["direct", "approval", "off"] = "direct"
    writes_per_minute: int = Field(default=60, ge=1, le=10_000)
    digest_token_budget: int = Field(default=1500, ge=0, le=100_000)
    audit_calls: int = Field(default=20_000, ge=100)
