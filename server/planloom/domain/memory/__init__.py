"""What earlier plans of a workspace found and did: an entry for each, its terms, and which entries a request is about.

Read `ranking` first.
"""
