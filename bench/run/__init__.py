"""What work costs once all is loaded: requests, load, scheduling, calls of a model, edits and tools."""
