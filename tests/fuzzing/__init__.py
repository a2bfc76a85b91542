"""Wrong texts for every reader of words, and wrong requests for the server."""
