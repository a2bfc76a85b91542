"""What a reference in a request resolves to, and why one may not resolve."""

from __future__ import annotations

from typing import Literal

from planloom.domain.text.positions import Range
from planloom.domain.values import AttachmentId, Sha256, Uri, Value

AttachmentKind = Literal["file", "folder", "link", "image", "selection", "diagnostics"]
UnresolvedCode = Literal[
    "not_found", "ambiguous", "outside", "secret", "too_large", "binary", "undecodable", "no_context"
]


class Attachment(Value):
    """Something the request names, as it was when it was resolved.

    `bytes` is the size of the whole content in UTF-8, `truncated` tells that less than this is attached.
    `version` is set when the content came from an open buffer; `sha256` is of the attached text.
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
        """The name of `attachment_id` on the wire."""
        return self.attachment_id


class Unresolved(Value):
    """A reference that names nothing we may attach; `candidates` are workspace paths."""

    reference: str
    code: UnresolvedCode
    message: str
    candidates: tuple[str, ...] = ()


class ResolvedAttachment(Value):
    """An attachment with its text; `text` is None where there is none to send (links, images, binaries)."""

    attachment: Attachment
    text: str | None = None
    image: bytes | None = None
