"""Tools that read git's state and history. Start with `git_tools.py`; `repository.py` runs git."""
