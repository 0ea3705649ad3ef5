"""Memory backends: local, in-memory, composite."""
