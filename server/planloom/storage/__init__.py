"""The ledger: events and texts of plans in SQLite. `execution` sees it as an `EventStore`.

Beside it `decisions.py`: what the user has decided on folders and on options, for `lsp` and `cli`.
"""
