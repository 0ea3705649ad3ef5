"""``python -m synthorg_tui`` is the command ``synthorg-tui``."""

import sys

from synthorg_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
