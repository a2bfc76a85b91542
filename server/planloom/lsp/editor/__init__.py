"""The client as our editor: what it can do, edits and questions sent to it, progress and events shown by it."""
