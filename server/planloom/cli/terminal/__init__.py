"""The terminal: what is printed while a plan runs, and the questions that a person answers."""
