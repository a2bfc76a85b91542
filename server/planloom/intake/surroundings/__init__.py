"""The part of a prompt on the place of the work: environment, workspace tree, project instructions.

Read `sections` first, then `gathering`, which fills it.
"""
