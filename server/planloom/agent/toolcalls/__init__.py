"""Reads tool calls out of a model's text as it streams, in the formats of every model family.

docs/model-text.md has the rules and the families. Read `reader` first, then `scanner`. A new format is a row in
`tokens` and, if its body differs from all others, a reader of it.
"""
