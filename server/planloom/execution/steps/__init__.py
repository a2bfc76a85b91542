"""One step: a literal tool call, or a model that works with tools until checks prove the step done.

Read `runner` first, then `tool_runner`.
"""
