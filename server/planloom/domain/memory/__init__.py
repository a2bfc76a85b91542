"""The memory of earlier plans of a workspace: an entry for each, its terms, and which entries a request is about.

Read `ranking` first.
"""
