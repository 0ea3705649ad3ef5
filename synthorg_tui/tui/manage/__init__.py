"""Screens about the whole: the store, its backups, the settings, and the agents connected to it."""
