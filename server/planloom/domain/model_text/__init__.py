"""Readers of text that a model wrote: lenient JSON, code fences, reasoning tags (docs/model-text.md)."""
