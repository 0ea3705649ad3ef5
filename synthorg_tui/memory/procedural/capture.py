"""Which runs teach something, and what."""
