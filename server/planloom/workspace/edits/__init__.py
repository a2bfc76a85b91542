"""A changeset from staging to a verified effect, and back: prepare, apply, verify, undo.

Read `apply`, `batch`, `prepare`, `verify`.
"""
