"""The interactive session: a line for requests and commands, and the plans that they become.

Start with `conversation`; `line` reads what is typed.
"""
