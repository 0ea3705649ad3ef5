"""What agents did: the record of a run, its calls and outcomes, and the store of them."""
