"""Notes on the command line, one line each."""
