"""RootConfig, YAML, environment and paths."""
