"""A plan and its steps: the values, the dependency graph, edits by the user, templates, validation."""
