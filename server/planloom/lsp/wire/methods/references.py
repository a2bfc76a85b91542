"""Params and results of the requests about the references of a text."""

from typing import Annotated, Literal

from pydantic import Field

from planloom.lsp.wire.base import Bool, Count, Int, Limit, Maybe, Text, Wire
from planloom.lsp.wire.plan import Detection
from planloom.lsp.wire.review import Attachment, Context, Unresolved


class CompleteParams(Wire):
    """`planloom/reference/complete`; `offset` counts UTF-16 units."""

    text: Text
    offset: Count
    limit: Maybe[Limit] = None
    context: Maybe[Context] = None


class ResolveParams(Wire):
    """`planloom/reference/resolve`."""

    text: Text
    context: Maybe[Context] = None


class KeepImageParams(Wire):
    """`planloom/attachment/keep`: an image as base64, at most 5,000,000 bytes."""

    data: Annotated[str, Field(max_length=6_700_000)]


class DetectParams(Wire):
    """`planloom/detect`."""

    text: Text


class DetectResult(Detection):
    """Whether a text needs a plan, and why in the user's language."""

    words: str


class ReferenceItem(Wire):
    """One completion of a reference; `replace` is the start and end of the text that it replaces, in UTF-16 units."""

    label: str
    insert_text: str
    detail: Maybe[str] = None
    kind: Literal["file", "folder", "symbol", "special"]
    replace: tuple[Int, Int]


class CompleteResult(Wire):
    """Completions of a reference."""

    items: tuple[ReferenceItem, ...]
    is_incomplete: Bool


class ResolveResult(Wire):
    """The resolved and the unresolved references of a text."""

    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]


class KeptImage(Wire):
    """Where an image was kept, to be attached by its URI."""

    uri: str
