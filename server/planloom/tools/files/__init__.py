"""Tools that read files and stage changes, and the matching of edits against the text of a file."""
