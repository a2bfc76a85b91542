"""Judges a request: whether it needs a plan, what kind of work it is, its complexity and its risk."""
