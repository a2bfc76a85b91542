"""The client as an editor: its capabilities, edits and questions sent to it, progress and events shown by it."""
