"""How much of a step's history a prompt shows: the context window and the compaction of old results."""
