"""How certain it is that a pattern holds for every agent.

The estimate is the share p of the runs in a situation that went the same way. How far it can be
trusted depends on how many runs there were, and of how many agents: runs of one agent are alike,
so that ten of them tell less than ten runs of ten agents. Hence

- the m runs of an agent are worth m / (1 + ICC * (m - 1)) independent ones, its number divided by
  Kish's design effect (L. Kish, Survey Sampling, 1965, section 5.4). Of the intraclass correlation
  ICC, 0 would make every run count whole and 1 would count agents only; 0.5 lies half way, and
  no agent counts for more than two. n is the sum over agents; p weighs them by it.
- the certainty is the lower end of Wilson's score interval for p and n (E. B. Wilson, Probable
  inference, JASA 22, 1927), one-sided at 80 percent: for p = 1 it is n / (n + z^2).

So it grows with the rate, with agents and with occurrences, and never reaches 1. Three agents
with one run each, all alike, give 0.81; five agents 0.88; five with four runs each 0.92; four of
five alike 0.62.
"""

import math
from collections.abc import Iterable
from typing import Final

INTRACLASS_CORRELATION: Final = 0.5
Z: Final = 0.8416212
"""The 80th percentile of the standard normal distribution."""


def worth(runs: int) -> float:
    """How many independent runs those of one agent are worth; ``runs`` is at least 1."""
    return runs / (1 + INTRACLASS_CORRELATION * (runs - 1))


def certainty(agents: Iterable[tuple[int, int]]) -> float:
    """The certainty, in [0, 1), of a pattern.

    ``agents`` holds for each agent in how many runs it went this way, and in how many (at least
    1, and no fewer) it faced the situation.
    """
    weighed = [(worth(faced), went / faced) for went, faced in agents]
    number = sum(weight for weight, _ in weighed)
    if not number:
        return 0.0
    rate = sum(weight * share for weight, share in weighed) / number
    doubt = Z * Z / number
    spread = Z * math.sqrt(max(0.0, rate * (1 - rate)) / number + doubt / (4 * number))
    return max(0.0, (rate + doubt / 2 - spread) / (1 + doubt))
