"""Resolves the references of a request, classifies it, and gathers what prompts say of the place of the work.

Read `references` and `resolve` (`@path`) first, then `routing/detection` and `routing/qualification` (does the
request need a plan, and which kind), then `surroundings/gathering`.
"""
