"""Other coding agents on the same tasks: their installation, and the scripted models that they are driven against."""
