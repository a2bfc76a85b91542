"""From the text of a path to a place in the workspace, or the reason why it is none."""
