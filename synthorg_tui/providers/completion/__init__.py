"""Models that write text."""
