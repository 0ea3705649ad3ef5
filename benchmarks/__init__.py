"""Benchmarks: each is one command and prints a table, or data with ``--json``."""
