"""Whose plan it is and whose turn: leases, one request at a time, resource claims, undo in the editor noticed."""
