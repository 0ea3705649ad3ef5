"""Organisation-wide memory: policies, decisions, procedures, conventions."""
