"""Benchmarks: each prints a table and is rerun by one command."""
