"""Fits a step's history into its prompts: the context window, and the compaction of old results."""
