"""The index of the workspace's files: ignore rules, listing, fuzzy search by path."""
