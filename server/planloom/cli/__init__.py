"""The command line: starts the server as a child process and talks to it as any editor would.

No other package imports it. Read `app` and `history_commands` (the commands), then `run` (one request from start to
exit code).
"""
