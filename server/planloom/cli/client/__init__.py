"""The command line as an LSP client: the connection, typed messages, and a headless editor that edits files on disk."""
