"""Coordinates running plans: leases, one request at a time, resource claims, and undo by the user in the editor."""
