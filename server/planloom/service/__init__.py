"""The application's API without a protocol: every request of a client, in domain types.

Read `application` (how the packages are wired together), then `actions/plans`.
"""
