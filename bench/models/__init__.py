"""What a model is sent and how its answers are read: prompts, journeys, parsers, and small real models."""
