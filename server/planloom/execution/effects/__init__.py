"""Effects on files and commands: proposed, approved, journalled, applied, and reconciled after a crash.

Read `gate` first; `journal` and `reconcile` hold the promise that nothing is lost or made twice.
"""
