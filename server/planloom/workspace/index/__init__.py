"""The index of the workspace's files: ignore rules, scan, search by name."""
