"""The Organisation pane."""
