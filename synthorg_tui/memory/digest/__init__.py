"""The budgeted digest: an agent's memories as one attributed, bounded part of its prompt."""
