"""To which other agents an approved lesson is copied."""
