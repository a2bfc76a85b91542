"""A plan and its steps: the values, the dependency graph, edits by a person, templates, validation."""
