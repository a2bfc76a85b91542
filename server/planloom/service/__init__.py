"""The application without a protocol: what a client can ask, in values of the domain. Imported by `lsp`.

Read `application` (how the rooms are put together), then `actions/plans`.
"""
