"""Planners, which write plans, behind one port (`port`).

`rules` needs no model; `model` asks one; `perspectives` asks three agents for reports first; `templates` fills in a
stored plan.
"""
