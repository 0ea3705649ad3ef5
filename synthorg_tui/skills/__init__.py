"""SKILL.md files: parse, validate, render, watch; tells of changes and stores nothing."""
