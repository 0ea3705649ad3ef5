"""The repositories of operational data on DuckDB, by what their entities are about."""
