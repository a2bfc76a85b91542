"""The author that needs no model: a request that spells out tool calls literally becomes them.

Read `parser`, then `clauses` and `calls`.
"""
