"""The Digest pane."""
