"""What a prompt says of the place of the work: environment, workspace tree, project instructions.

Read `sections` first, then `gathering`, which fills it.
"""
