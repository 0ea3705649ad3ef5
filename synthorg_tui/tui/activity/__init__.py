"""The Activity pane."""
