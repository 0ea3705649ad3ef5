"""The Skills pane."""
