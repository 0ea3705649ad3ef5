"""The settings: their model, and the files and variables that they are read from."""
