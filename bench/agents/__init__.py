"""Agents side by side on the same tasks, while a person types and while they are killed: `python -m bench.agents`."""
