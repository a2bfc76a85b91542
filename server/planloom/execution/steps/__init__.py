"""Runs one step: a literal tool call, or a model that works with tools until the step's checks pass.

Read `runner` first, then `tool_runner`.
"""
