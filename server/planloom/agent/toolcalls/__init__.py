"""Reads tool calls out of a model's text as it streams, in the formats of every model family (docs/model-
text.md).

Read `reader` first, then `scanner`; a new format is a row in `tokens` and, where its body differs, a reader
of it.
"""
