"""Journeys in real editors, in a terminal, with the configuration of the documentation; `make editors` runs them."""
