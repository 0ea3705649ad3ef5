"""What the whole organisation knows: policies, decisions, procedures, conventions."""
