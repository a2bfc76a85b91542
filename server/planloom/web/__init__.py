"""Addresses and pages of the web, and what every HTTP client shares.

Start with `addresses`, which judges where a request may go, and `fetching`, which gets one page.
"""
