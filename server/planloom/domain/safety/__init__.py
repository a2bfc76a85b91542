"""Dangers recognised by names and words alone (protected paths, destructive requests), and the approval policy."""
