"""The templates that ship, and the author that fills one in."""
