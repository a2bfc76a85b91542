"""Starts one command on Linux within limits. Read `launcher` first.

These modules run in a process of their own, before the command: they import little, so that it starts soon.
"""
