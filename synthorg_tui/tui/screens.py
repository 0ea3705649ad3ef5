"""Screens: they ask the desk, show view models, and turn keys into actions."""
