"""Plans as documents of the editor: shown, kept up to date, and read when the user saves them.

Read `shown_documents` first. The form of a document is that of `domain/document`.
"""
