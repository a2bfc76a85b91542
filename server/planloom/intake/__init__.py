"""Resolves the references of a request and classifies it. Imported by `planning` and `service`.

Read `references` and `resolve` (`@path`) first, then `detection` and `qualification` (does the request need a plan,
and which kind).
"""
