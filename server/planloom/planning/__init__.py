"""Authors of plans, behind one port (`port`). Imported by `service`.

`rules` needs no model; `model` asks one; `perspectives` asks three agents first; `templates` fills a stored
plan in.
"""
