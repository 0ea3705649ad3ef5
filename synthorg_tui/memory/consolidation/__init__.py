"""Keeping the amount of memory in bounds: retention, consolidation, archival."""
