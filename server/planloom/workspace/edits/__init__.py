"""A changeset from approval to a verified effect, and back: prepare, apply, verify, undo.

Start with `apply`, `batch`, `prepare` and `verify`.
"""
