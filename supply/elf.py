"""Cuts what no loader reads off a Linux library: debugging information, symbol names for linkers, the section table.

A wheel may ship such parts (regex: two thirds of the file). The dynamic linker goes by the program headers alone, whose
content stays as it is. The layout is that of the ELF specification for 64 bits, little-endian.
"""

from __future__ import annotations

import struct

IDENTITY = b"\x7fELF\x02\x01"
"""The first bytes of each file: the magic number, 64 bits, little-endian."""


def without_sections(library: bytes) -> bytes:
    """The same library without what lies behind its last segment; other files as they are."""
    if not library.startswith(IDENTITY):
        return library
    table, size, count = (*struct.unpack_from("<Q", library, 32), *struct.unpack_from("<HH", library, 54))
    end = table + size * count
    for number in range(count):
        offset, stored = struct.unpack_from("<Q16xQ", library, table + number * size + 8)
        end = max(end, offset + stored)
    # Of the header: the place of the section table, and at its end the size, number and index of names of sections.
    return library[:40] + bytes(8) + library[48:58] + bytes(6) + library[64:end]
