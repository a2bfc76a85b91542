"""The command line as an LSP client: the connection, typed messages, and the session without an editor."""
