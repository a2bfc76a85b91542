"""The user's MCP servers, whose tools, resources and prompts plans may use.

Start with `servers.py`, which is the port's other side; `entries.py` says which servers there are, `server.py` is one
running server over `transports.py`, `cleaning.py` bounds what servers say of themselves. The protocol library is
imported when the first server starts.
"""
