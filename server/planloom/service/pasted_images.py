"""Keeps images that have no file, such as pasted ones, so that a request can attach them by URI."""

from __future__ import annotations

import asyncio
import hashlib

from planloom.domain.errors import InvalidParams, StorageFailed, WorkspaceRequired
from planloom.domain.image_types import KINDS, image_type
from planloom.domain.values import Uri
from planloom.execution.session import Session
from planloom.intake.reference_sources import Limits
from planloom.workspace.scratch_files import write_scratch_file


async def keep_image(session: Session, data: bytes) -> Uri:
    """Write an image to the first folder's `.planloom/`; its URI, the same for the same bytes.

    Raises InvalidParams for what is no image or too large, WorkspaceRequired without a folder,
    UntrustedWorkspace, and StorageFailed if it cannot be written.
    """
    most = Limits().image_bytes
    media_type = image_type(data)
    if media_type is None or len(data) > most:
        problem = f"it is no {KINDS}" if media_type is None else f"it is over {most:,} bytes"
        raise InvalidParams(
            f"The image cannot be attached: {problem}.", details=[{"field": "data", "problem": problem}]
        )
    folders = session.view.roots.folders
    if not folders:
        raise WorkspaceRequired("No folder is open.", hint="Open a folder, then attach the image again.")
    session.require_trust("an image that is no file of it cannot be kept")
    name = f"image-{hashlib.sha256(data).hexdigest()[:12]}.{media_type.partition('/')[2]}"
    uri = await asyncio.to_thread(write_scratch_file, folders[0], name, data)
    if uri is None:
        raise StorageFailed("The image could not be written to .planloom/.")
    return uri
