"""From index hits to ranked results."""
