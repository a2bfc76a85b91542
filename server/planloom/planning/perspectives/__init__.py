"""The planner that asks three agents for reports before the plan is written."""
