"""Lessons out of executions: found, drafted, worded, compared across agents."""
