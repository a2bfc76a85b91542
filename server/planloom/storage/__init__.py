"""The ledger: events and texts of plans in SQLite. Imported by `service`; `execution` sees it as an `EventStore`."""
