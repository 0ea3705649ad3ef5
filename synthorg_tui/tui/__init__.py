"""The terminal application: one folder for each pane, and what panes share in base and widgets."""
