"""Base classes and helpers shared by all panes and dialogs."""
