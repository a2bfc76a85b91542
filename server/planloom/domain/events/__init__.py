"""Everything that can happen to a plan (`catalog`) and how each event changes it (`lifecycle`, which picks a
`fold_…`).
"""
