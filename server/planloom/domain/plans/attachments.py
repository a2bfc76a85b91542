"""The values that references in a request resolve to, and the failures to resolve one."""

from __future__ import annotations

from typing import Literal

from planloom.domain.text.positions import Range
from planloom.domain.values import AttachmentId, Sha256, Uri, Value

AttachmentKind = Literal["file", "folder", "link", "image", "selection", "diagnostics", "terminal", "changes"]
UnresolvedCode = Literal[
    "not_found", "ambiguous", "outside", "secret", "too_large", "binary", "undecodable", "no_context"
]


class Attachment(Value):
    """Something that the request references, as it was when it was resolved.

    `bytes` is the size of the whole content in UTF-8; `truncated`: less than this is attached. `version` is set if
    the content came from an open buffer; `sha256` is the hash of the attached text.
    """

    attachment_id: AttachmentId
    kind: AttachmentKind
    reference: str
    uri: Uri | None = None
    label: str | None = None
    range: Range | None = None
    language_id: str | None = None
    bytes: int = 0
    truncated: bool = False
    note: str | None = None
    secret: bool | None = None
    version: int | None = None
    sha256: Sha256 | None = None

    @property
    def id(self) -> AttachmentId:
        """`attachment_id` under its name on the wire."""
        return self.attachment_id


class Unresolved(Value):
    """A reference that cannot be attached; `candidates` are workspace paths."""

    reference: str
    code: UnresolvedCode
    message: str
    candidates: tuple[str, ...] = ()


class ResolvedAttachment(Value):
    """An attachment with its content; `text` is None for links, images and binary files."""

    attachment: Attachment
    text: str | None = None
    image: bytes | None = None
