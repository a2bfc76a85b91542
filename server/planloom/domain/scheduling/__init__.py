"""Decides what a running plan does next. `directives` defines the rule; `schedule` computes it incrementally."""
