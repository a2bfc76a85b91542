"""The author that asks a language model: prompt, schema, answer made into checked steps."""
