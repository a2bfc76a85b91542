"""Resolves the text of a path to a file or folder in the workspace, or to the reason for refusing it."""
