"""Widgets that draw lines prepared by the panes; they have no wording of their own."""
