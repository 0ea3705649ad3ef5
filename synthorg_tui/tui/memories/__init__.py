"""The Memories pane."""
