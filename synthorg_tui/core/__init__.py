"""Types, errors and text handling that every other package builds on."""
