"""What a person does: approve, edit, pause, answer, undo, export."""
