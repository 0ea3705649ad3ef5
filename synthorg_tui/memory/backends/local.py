"""The local backend: DuckDB keeps the memories, a vector index finds them."""
