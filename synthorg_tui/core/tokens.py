"""Token estimate for when no tokenizer is loaded."""

CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens ``text`` has: 0 when empty, else at least 1."""
    return max(1, len(text) // CHARS_PER_TOKEN) if text else 0
