"""The values that references in a request resolve to, and the failures to resolve one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Literal

from planloom.domain.text.positions import Range
from planloom.domain.values import AttachmentId, Sha256, Uri, Value

AttachmentKind = Literal[
    "file", "folder", "link", "image", "selection", "diagnostics", "terminal", "changes", "resource"
]
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

    @property
    def of_web(self) -> bool:
        """Whether it is an address of the web, of which nothing is fetched when it is attached."""
        return self.uri is not None and self.uri.lower().startswith(("http://", "https://"))


def images_of(attached: Iterable[ResolvedAttachment]) -> tuple[str, ...]:
    """The names of the images among the attachments."""
    found = (each.attachment for each in attached if each.attachment.kind == "image")
    return tuple(each.label or each.reference for each in found)


def not_shown(images: Sequence[str]) -> str:
    """The message to a person whose model takes no images."""
    return f"The model takes no images, so it is shown the name alone of: {', '.join(images)}."


def additional(known: Sequence[Attachment], found: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Those of the attachments found that are not known, with the next free ids."""
    keys = {source_key(each) for each in known}
    taken = {each.attachment_id for each in known}
    free = (name for number in count(1) if (name := AttachmentId(f"attachment_{number}")) not in taken)
    return tuple(
        each.model_copy(update={"attachment_id": next(free)})
        for each in found
        if source_key(each) not in keys
    )


def source_key(attachment: Attachment) -> tuple[str, str, Range | None]:
    """The identity of what is attached: equal for two attachments of the same thing."""
    return attachment.kind, attachment.uri or attachment.reference, attachment.range


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
