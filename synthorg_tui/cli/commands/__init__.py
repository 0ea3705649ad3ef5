"""What each command does: call the engine, print the answer."""
