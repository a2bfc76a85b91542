"""What concerns no plan: the check of what Planloom needs, trust, keys, models, settings and shell completions."""
