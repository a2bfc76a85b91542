"""Reads a prompt: its text, the files and images that it attaches, and a command at its beginning."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from acp import schema

from planloom.domain.errors import InvalidParams
from planloom.domain.image_types import KINDS
from planloom.domain.values import Uri
from planloom.intake.reference_sources import Requested
from planloom.workspace.paths.uris import is_file

if TYPE_CHECKING:
    from planloom.service.application import Application


class Prompt(NamedTuple):
    """What the person says, and what they attach to it."""

    text: str
    attachments: tuple[Requested, ...] = ()


async def prompt_of(app: Application, blocks: Sequence[Any]) -> Prompt:
    """Read the blocks of a prompt. Raises InvalidParams for sound, and what keeping an image raises."""
    parts: list[str] = []
    attached: list[Requested] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                parts.append(block.text)
            case schema.ImageContentBlock():
                attached.append(Requested(uri=await app.references.keep_image(_decoded(block.data))))
            case schema.ResourceContentBlock() if is_file(block.uri):
                attached.append(Requested(uri=Uri(block.uri), label=block.name))
                parts.append(block.name)
            case schema.ResourceContentBlock():
                parts.append(block.uri)
            case schema.EmbeddedResourceContentBlock():
                await _embedded(app, block.resource, parts, attached)
            case _:
                raise _refused("type", "it is neither text, nor an image, nor a resource")
    return Prompt(_joined(parts), tuple(attached))


async def _embedded(app: Application, resource: Any, parts: list[str], attached: list[Requested]) -> None:
    """A resource with its content: a file of this machine is read as it is now, another text stands in the request."""
    if isinstance(resource, schema.BlobResourceContents):
        attached.append(Requested(uri=await app.references.keep_image(_decoded(resource.blob))))
    elif is_file(resource.uri) and await _is_here(app, resource.uri):
        attached.append(Requested(uri=Uri(resource.uri)))
        parts.append(resource.uri.rpartition("/")[2])
    else:
        fence = "```" if "```" not in resource.text else "~~~~"
        parts.append(f"\n\n{resource.uri}:\n{fence}\n{resource.text}\n{fence}\n")


async def _is_here(app: Application, uri: str) -> bool:
    """Whether a resource is a file that can be attached: in the workspace, and a text."""
    found = await app.references.resolve("", None, (), (Requested(uri=Uri(uri)),))
    return bool(found.attachments)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _refused("data", f"it is no base64 of a {KINDS}") from None


def _joined(parts: Iterable[str]) -> str:
    """The parts with a blank between what has none: clients cut a text where something is mentioned in it."""
    text = ""
    for part in parts:
        gap = " " if text and part and not text[-1].isspace() and not part[0].isspace() else ""
        text += gap + part
    return text.strip()


def _refused(field: str, problem: str) -> InvalidParams:
    return InvalidParams(
        f"The prompt cannot be read: {problem}.", details=[{"field": f"prompt.{field}", "problem": problem}]
    )
