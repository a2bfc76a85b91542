"""`planloom mcp`: Planloom as an MCP server, to which another agent hands work. A person approves it, never that agent.

Start in `tools.py`, which has every tool.
"""
