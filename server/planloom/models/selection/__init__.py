"""Chooses the model: the one in the settings, or the first that answers."""
