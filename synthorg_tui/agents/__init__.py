"""What connected agents may do with the memory, and the record of what they did."""
