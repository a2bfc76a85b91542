"""Runs the commands of steps and of drafts, and finds what they have changed. Read `running` first."""
