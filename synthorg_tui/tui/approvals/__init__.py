"""The Approvals pane."""
