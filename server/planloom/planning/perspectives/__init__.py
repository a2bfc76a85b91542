"""The author that has three agents look at a request before the plan is written."""
