"""The ledger: events and texts of plans in SQLite. Imported by `execution` and `service`."""
