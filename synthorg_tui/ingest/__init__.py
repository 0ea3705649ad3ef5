"""Transcripts in, executions and memories out."""
