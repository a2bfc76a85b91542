"""The user's requests on plans: approve, edit, pause, answer, undo, export."""
