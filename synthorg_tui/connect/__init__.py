"""Puts the memory into the coding agents people use: their configuration and their hooks."""
