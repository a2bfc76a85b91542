"""Confines the commands that plans run. Read `abilities` first."""
