"""Readers of the transcripts that coding agents leave on disk, one module a tool."""
