"""Models that read a question and a text together, to put texts in order."""
