"""Jobs: what runs by itself, how often, and what came of it."""

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.types import FrozenModel


class JobsConfig(FrozenModel):
    """How often the jobs run whose interval no other setting has.

    Jobs run while the app or an owner of the store is open; one that was due meanwhile runs once.
    """

    reembedding: ConsolidationInterval = ConsolidationInterval.HOURLY
    compaction: ConsolidationInterval = ConsolidationInterval.HOURLY
    packing: ConsolidationInterval = ConsolidationInterval.DAILY
    pruning: ConsolidationInterval = ConsolidationInterval.WEEKLY
    knowledge: ConsolidationInterval = ConsolidationInterval.HOURLY
