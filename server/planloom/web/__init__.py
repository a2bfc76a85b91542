"""Addresses and pages of the web, and what every HTTP client shares. Imported by `models`, `tools`, `execution`.

Start with `addresses`, which judges where a request may go, and `fetching`, which gets one page.
"""
