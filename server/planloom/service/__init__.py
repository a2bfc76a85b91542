"""The application's API without a protocol: every request of a client, in domain types. Imported by `lsp`.

Read `application` and `execution` (how the packages are wired together), then `actions/plans`.
"""
