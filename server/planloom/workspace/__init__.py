"""The user's files as the editor shows them. Imported by `tools`, `intake`, `execution`, `service`.

Read `view` (open buffer, then what the editor acknowledged, then disk), `paths/resolver`, and `edits/apply`.
"""
