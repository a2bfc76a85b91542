"""Codex on the same task: its installation, and the scripted model that both are driven against."""
