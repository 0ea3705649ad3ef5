"""The Sessions pane, and the transcript of a session."""
