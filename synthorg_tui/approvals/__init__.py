"""What waits for a person's decision, and what was decided; knows nothing of what is approved."""
