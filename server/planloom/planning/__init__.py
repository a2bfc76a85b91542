"""Planners, which write plans, behind one port (`port`). Imported by `service`.

`rules` needs no model; `model` asks one; `perspectives` asks three agents for reports first; `templates` fills in a
stored plan.
"""
