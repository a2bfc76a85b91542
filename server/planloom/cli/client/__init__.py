"""The command line as an LSP client: the connection, a headless editor that applies edits on disk, the typed
messages.
"""
