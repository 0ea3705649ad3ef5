"""Regular expressions that are compiled when they are first needed, or never."""

import re
from functools import cache


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """The expression compiled, once; those of this program are few enough to keep them all."""
    return re.compile(expression)
