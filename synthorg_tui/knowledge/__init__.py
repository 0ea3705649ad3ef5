"""What is known of projects: made by code from many sessions, and kept up by further ones."""
