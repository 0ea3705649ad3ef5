"""The settings: their model, and where they come from."""
