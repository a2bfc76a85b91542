"""The view of a step: its sign and words, its row, its place in a drawing, what it ran."""
