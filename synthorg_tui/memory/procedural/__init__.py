"""Lessons: from what went wrong, or right, to a skill that a person approved."""
