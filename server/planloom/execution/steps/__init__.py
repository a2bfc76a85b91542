"""Runs one step: a literal tool call, or a model that works with tools until the step's checks pass.

Read `runner` first, then `literal_calls`, `model_work` and `tool_runner`.
"""
