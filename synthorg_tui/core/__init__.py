"""Types, errors and text handling that every other package builds on."""

COPY_VARIABLE = "AGENT_RUN_COPY"
"""Environment variable with the name of the copy that a run works in.

By it a hook knows that its agent was started here, and every program that the run started is found.
"""
