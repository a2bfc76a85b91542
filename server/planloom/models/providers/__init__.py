"""One adapter per provider, and the access to their servers."""
