"""Requests on the text of a request: its references, their completion, and whether it needs a plan."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from planloom.domain.errors import InvalidParams
from planloom.domain.values import Json
from planloom.lsp.wire import from_wire
from planloom.lsp.wire.methods import references as wire
from planloom.view.figures import rule_words

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

DEFAULT_LIMIT = 50


async def resolve(connection: Connection, params: wire.ResolveParams) -> wire.ResolveResult:
    """Resolve the references of a text."""
    found = await connection.app.references.resolve(params.text, from_wire.context(params.context))
    return wire.ResolveResult.of(found, attachments=tuple(each.attachment for each in found.attachments))


async def complete(connection: Connection, params: wire.CompleteParams) -> wire.CompleteResult:
    """Complete the reference at `offset`, which counts UTF-16 units."""
    found = await connection.app.references.complete(
        params.text, params.offset, params.limit or DEFAULT_LIMIT, from_wire.context(params.context)
    )
    return wire.CompleteResult.of(found)


async def keep_image(connection: Connection, params: wire.KeepImageParams) -> wire.KeptImage:
    """Keep an image that has no file, such as a pasted one, in `.planloom/`."""
    try:
        data = b64decode(params.data, validate=True)
    except ValueError:
        problem: dict[str, Json] = {"field": "data", "problem": "it is no base64"}
        raise InvalidParams("The image is no base64.", details=[problem]) from None
    return wire.KeptImage(uri=await connection.app.references.keep_image(data))


async def detect(connection: Connection, params: wire.DetectParams) -> wire.DetectResult:
    """Decide by rules, without a model, whether a text needs a plan."""
    found = connection.app.detect(params.text)
    return wire.DetectResult.of(found, words=rule_words(found.rule, connection.words))
