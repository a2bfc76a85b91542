"""Readers of plans as models write them: JSON, labels, numbered lists (docs/model-text.md, P1 to P8)."""
