"""Memories of an execution, made without any model."""
