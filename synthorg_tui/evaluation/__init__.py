"""Evaluation: whether a skill is found when it is needed, and whether it helps."""
