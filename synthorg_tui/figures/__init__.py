"""Figures of the whole store over time: what the overview draws and its command prints."""
