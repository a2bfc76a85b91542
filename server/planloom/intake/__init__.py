"""From the words of a request to what it refers to and what kind of work it is. Imported by `planning` and
`service`.

Read `references` and `resolve` (`@path`), then `detection` and `qualification` (does it want a plan, which
one).
"""
