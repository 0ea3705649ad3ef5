"""A YAML loader that bounds nesting; imported only where there is YAML, which takes a while."""

from typing import Final

import yaml

MAX_NESTING: Final = 16
"""How deep brackets, lists and maps may be in one another."""


class BoundedLoader(yaml.SafeLoader):
    """Refuses deep nesting at its line, before it costs anything.

    The scanner's time grows with the square of open brackets, and composing calls itself.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803
        """Open a bracket, unless too many are open."""
        if self.flow_level >= MAX_NESTING:
            mark = self.get_mark()
            raise yaml.scanner.ScannerError(None, None, "brackets are nested too deeply", mark)
        super().fetch_flow_collection_start(TokenClass)

    def compose_node(
        self, parent: yaml.Node | None, index: yaml.Node | int | None
    ) -> yaml.Node | None:
        """Build a node, unless it is in too many others."""
        if self._depth > MAX_NESTING:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "nested too deeply", mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)  # type: ignore[arg-type]
        finally:
            self._depth -= 1
