"""Text as editors and merges need it: positions and units, differences, three-way merge."""
