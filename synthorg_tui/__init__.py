"""A local-first memory desk for AI agents."""

__version__ = "0.1.0"
