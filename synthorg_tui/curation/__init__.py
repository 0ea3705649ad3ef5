"""The life of a skill: proposal, review, decision, registry, files on disk, erasure."""
