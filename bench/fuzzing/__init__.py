"""Wrong texts for every parser, and wrong requests for the server."""
