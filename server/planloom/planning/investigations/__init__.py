"""Planning by a model that looks into the workspace first, with read-only tools; begin with `planner`."""
