"""The Agent Client Protocol: Planloom as an agent for clients that show agents. Only this room imports its library.

Read `agent` (the methods), then `session`. `wire` has the bytes, `client` the requests to the client, `editor` its
buffers; `updates` and `questions` render the view of a plan.
"""
