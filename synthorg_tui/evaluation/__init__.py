"""Evaluation: whether a proposed or approved skill helps, cheapest measure first.

Four levels, each with its own module: what is wrong with the text (``lint``), whether recorded
prompts would bring it up (``trigger``), runs with it and without it (``replay``), and what became
of its failure since it was approved (``recurrence``). Results belong to the exact text that was
looked at, by its SHA-256. Nothing here decides about a skill.
"""
