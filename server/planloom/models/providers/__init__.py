"""One adapter a provider, and the catalog of providers."""
