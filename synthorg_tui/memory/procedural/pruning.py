"""Which lessons are no longer worth keeping; proposed, never removed here."""
