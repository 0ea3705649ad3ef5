"""What is known of projects."""
