"""One server process over a whole day of work."""
