"""Effects on files and commands: proposed, approved, journalled, applied, and reconciled after a crash.

Read `gate` first; `journal` and `reconcile` ensure that no edit is lost or made twice. `applied_edits`
runs the follow-ups of each edit.
"""
