"""Which Planloom this is; the package's own metadata is made from it."""

VERSION = "0.1.0"
