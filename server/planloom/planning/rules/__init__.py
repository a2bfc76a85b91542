"""The planner that needs no model: a request that spells out tool calls literally becomes them.

Read `planner`, then `clauses` and `calls`.
"""
