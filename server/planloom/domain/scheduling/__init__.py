"""Decides what a running plan does next. `directives` has what can be due, `schedule` computes it event by event."""
