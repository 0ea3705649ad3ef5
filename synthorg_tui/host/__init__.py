"""One process owns the store; the others talk to it over a socket."""
