"""One adapter per provider, and the catalog of providers."""
