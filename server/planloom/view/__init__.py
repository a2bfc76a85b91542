"""A plan as people see it: its words, signs and offered actions, computed once and rendered by every client.

Read `plan_view` first.
"""
