"""What every pane and dialog is made of."""
