"""Which model answers: what the settings name, or the first that is there."""
