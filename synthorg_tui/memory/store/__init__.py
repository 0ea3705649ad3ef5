"""The local backend: memories in DuckDB with a vector index beside them."""
