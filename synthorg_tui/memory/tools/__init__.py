"""Memory as tools that an agent calls."""
