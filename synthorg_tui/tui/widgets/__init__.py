"""Widgets that draw view-model lines; none of them holds text of its own."""
