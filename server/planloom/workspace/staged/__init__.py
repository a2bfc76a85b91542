"""Changes that are not made yet: in their order, as reads see them, and rebased onto what was written meanwhile."""
