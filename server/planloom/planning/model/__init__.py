"""The planner that asks a language model: prompts, schema, and steps made from the answer."""
