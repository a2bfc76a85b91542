"""The params and results of every method, in modules by subject as in `lsp/handlers`; few are needed at the start."""
