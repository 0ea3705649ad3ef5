"""What a person does with organisation memory: write it, read it from files, publish it."""
