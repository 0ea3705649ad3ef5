"""The DuckDB database and its operational repositories."""
