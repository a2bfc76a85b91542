"""Which Planloom this is; the package's own metadata is made from it."""

VERSION = "0.1.0"

DOCUMENTATION = "https://github.com/planloom/planloom/blob/main/docs"
"""Where people read the pages of `docs`."""

PROTOCOL_VERSION = 1
"""The version of the protocol beyond LSP; what is added to it does not change it."""
