"""A supervisor that sends a query to the searches that suit it, and retries poor results."""
