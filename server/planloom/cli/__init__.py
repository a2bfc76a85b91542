"""The command line: starts the server as a child process and talks to it as any editor would.

No other package imports it. Read `arguments` (the commands with their options), `commands` (the work of each), then
`run` (one request from start to exit code).
"""
