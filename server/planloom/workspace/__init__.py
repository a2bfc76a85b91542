"""The user's files as the editor shows them. Imported by `tools`, `intake`, `execution`, `service`.

Start with `view` (open buffer, then text the editor acknowledged, then disk), `paths/resolver` and `edits/apply`.
"""
