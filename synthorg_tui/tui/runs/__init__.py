"""The Runs screen: agents that run here, step by step, live; starting, stopping, resuming them."""
