"""Lets one process own the store and answer all others over a Unix socket."""
