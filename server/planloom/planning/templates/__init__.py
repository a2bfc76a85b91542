"""The templates that ship, and the planner that fills in a template."""
