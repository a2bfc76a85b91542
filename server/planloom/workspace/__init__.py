"""The user's files as the editor shows them.

Start with `view` (open buffer, then text the editor acknowledged, then disk), `paths/resolver` and `edits/apply`.
"""
