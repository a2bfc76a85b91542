"""Resolves the references of a message to attachments, from open documents first, then from the disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planloom.domain.image_types import named_image_type
from planloom.domain.patterns import pattern
from planloom.domain.plans.attachments import Attachment, AttachmentKind, ResolvedAttachment, Unresolved
from planloom.domain.values import AttachmentId, Uri
from planloom.intake.attach import Attachments, Found, inside, refused, text_of
from planloom.intake.contents import findings_of
from planloom.intake.languages import language_of
from planloom.intake.reference_sources import (
    Context,
    Limits,
    ReferenceSources,
    Requested,
    Resolution,
    SymbolPlace,
)
from planloom.intake.references import Reading, Reference, find_references
from planloom.tools.external_tools import NotThere
from planloom.tools.terminal_text import plain
from planloom.web.addresses import WebAddress, web_address
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot

LINKED_IMAGE = "Only a step fetches it, for a model that takes images, if that is allowed."
"""The note on the address of an image, until a step fetches it."""
_SYMBOL: Final = pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*){0,5}")
_NO_CONTEXT = Context()
_LIMITS = Limits()


async def resolve_references(
    text: str,
    sources: ReferenceSources,
    context: Context | None = None,
    confirmed: Iterable[str] = (),
    limits: Limits = _LIMITS,
    requested: Sequence[Requested] = (),
) -> Resolution:
    """Resolve the references of the user's message, and what the client attached besides.

    `confirmed` are references to secrets, with or without `@`, that may be sent. References inside attached texts
    are not followed. Never raises: each failure becomes an `Unresolved`.
    """
    attached = Attachments(sources, confirmed, limits)
    resolver = _Resolver(sources, context or _NO_CONTEXT, attached)
    references = find_references(text)
    for reference in references[: limits.references]:
        await resolver.add(reference)
    for extra in requested[: limits.references]:
        await resolver.add_requested(extra)
    left = max(0, len(references) - limits.references) + max(0, len(requested) - limits.references)
    if left:
        first = references[limits.references].text if len(references) > limits.references else "attachments"
        sentence = (
            f"A request may have {limits.references} references; {left} were left out. Name a folder instead."
        )
        attached.add(Unresolved(reference=first, code="too_large", message=sentence))
    return attached.resolution()


async def look_again(
    attachment: Attachment, sources: ReferenceSources, limits: Limits = _LIMITS
) -> ResolvedAttachment | Unresolved | None:
    """The present content of an attached file or image.

    None if the file is unchanged, or if the attachment is of another kind or of the web. An image is always read, since
    the ledger does not keep it.
    """
    if attachment.kind not in ("file", "image") or attachment.uri is None or attachment.of_web:
        return None
    confirmed = (attachment.reference,) if attachment.secret else ()
    attached = Attachments(sources, confirmed, limits)
    place = await sources.locate_uri(attachment.uri)
    found = await attached.attach(place, attachment.reference, None, attachment.label, attachment.range)
    if isinstance(found, Unresolved):
        return found
    now = found.attachment.model_copy(update={"attachment_id": attachment.attachment_id})
    if attachment.kind == "file" and (now.sha256, now.note) == (attachment.sha256, attachment.note):
        return None
    return found.model_copy(update={"attachment": now})


class _Resolver:
    """Resolves the references of one message."""

    def __init__(self, sources: ReferenceSources, context: Context, attached: Attachments) -> None:
        self._sources = sources
        self._context = context
        self._attached = attached
        self._tails: dict[str, tuple[str, ...]] = {}

    async def add(self, reference: Reference) -> None:
        """Resolve one reference of the message."""
        match reference.kind:
            case "link":
                self._attached.add(self._link(reference))
            case "selection":
                for found in await self._selections(reference.text):
                    self._attached.add(found)
            case "diagnostics":
                self._attached.add(await self._diagnostics(reference))
            case "problems":
                self._attached.add(await self._problems(reference))
            case "terminal":
                self._attached.add(self._terminal(reference))
            case "git":
                self._attached.add(await self._changes(reference))
            case "path":
                self._attached.add(await self._path(reference))

    async def add_requested(self, extra: Requested) -> None:
        """Attach what the client names by URI."""
        place = await self._sources.locate_uri(extra.uri)
        reference = f"@{place.relative}" if isinstance(place, ResolvedPath) else extra.label or extra.uri
        self._attached.add(await self._attached.attach(place, reference, None, extra.label, extra.range))

    async def _path(self, reference: Reference) -> Found:
        found = await self._exact(reference) or await self._elsewhere(reference)
        if isinstance(found, Unresolved):
            if found.code != "not_found":
                return found
            return await self._symbol(reference) or await self._resource(reference) or found
        reading, place = found
        text = _as_read(reference, reading)
        return await self._attached.attach(place, text, reading.lines)

    async def _exact(self, reference: Reference) -> tuple[Reading, ResolvedPath] | Unresolved | None:
        """The first reading that exists in a workspace folder, or the refusal if a path may not be used."""
        refusal: Unresolved | None = None
        for reading in reference.readings:
            place = await self._sources.locate(reading.path)
            if isinstance(place, PathRefused):
                # With several folders open, a missing path is ambiguous; only existing candidates make it a refusal.
                if place.code != "ambiguous" or await self._any_exists(place.candidates):
                    refusal = refused(reference.text, place)
            elif place.exists or (await self._sources.snapshot(place.uri)).exists:
                return reading, place
        return refusal if refusal is not None and refusal.code != "not_found" else None

    async def _any_exists(self, paths: Sequence[str]) -> bool:
        for path in paths:
            place = await self._sources.locate(path)
            if isinstance(place, ResolvedPath) and place.exists:
                return True
        return False

    async def _resource(self, reference: Reference) -> Found | None:
        """What an MCP server of this name offers; None if there is no such server."""
        for reading in reference.readings if reference.kind == "path" else ():
            server, colon, uri = reading.path.partition(":")
            offered = (
                await self._sources.resource(server, uri) if colon and uri and reading.lines is None else None
            )
            if isinstance(offered, NotThere):
                return Unresolved(reference=reference.text, code="not_found", message=str(offered))
            if offered is not None:
                return self._text(
                    reference._replace(text=_as_read(reference, reading)), "resource", plain(offered)
                )
        return None

    async def _elsewhere(self, reference: Reference) -> tuple[Reading, ResolvedPath] | Unresolved:
        """The only path in the workspace that ends with the names of the reference."""
        candidates: tuple[str, ...] = ()
        for reading in reference.readings:
            tail = reading.path.replace("\\", "/").removeprefix("./")
            if tail.startswith(("/", "..", "~")) or not tail.strip("/"):
                continue
            found = await self._ending_with(tail)
            if len(found) > 1:
                return _ambiguous(reference.text, found)
            for path in found:
                place = await self._sources.locate(path)
                if isinstance(place, ResolvedPath) and place.exists:
                    return reading, place
            name = tail.rstrip("/").rpartition("/")[2]
            if not candidates and name != tail:
                candidates = await self._ending_with(name)
        path = reference.readings[-1].path
        hint = " Check the path, or give the full path."
        if candidates:
            hint = f" There is {_listed(candidates)}."
        elif not self._sources.listed():
            hint = " Not all files are listed yet. Ask again in a moment, or give the full path."
        return Unresolved(
            reference=reference.text,
            code="not_found",
            message=f"No file or folder of the workspace is called {quoted(path)}.{hint}",
            candidates=candidates[:10],
        )

    async def _symbol(self, reference: Reference) -> Found | None:
        """The lines of the only symbol with the name; None if there is none."""
        for reading in reference.readings:
            if _SYMBOL.fullmatch(reading.path) is None:
                continue
            found = await self._sources.symbols(reading.path)
            if len(found) > 1:
                return _ambiguous(reference.text, [_in_lines(each) for each in found])
            for each in found:
                return await self._attached.attach(each.place, _as_read(reference, reading), each.lines)
        return None

    async def _ending_with(self, tail: str) -> tuple[str, ...]:
        """The files, else the folders, that end with these names; each tail is looked up once for a message."""
        if tail not in self._tails:
            found = await self._sources.ending_with(tail)
            if not found and not tail.endswith("/"):
                found = await self._sources.ending_with(tail + "/")
            self._tails[tail] = found
        return self._tails[tail]

    async def _selections(self, reference: str) -> Sequence[Found]:
        chosen = [span for span in self._context.selections if span.start != span.end]
        place = await self._active(reference)
        if isinstance(place, Unresolved):
            return (place,)
        if not chosen:
            sentence = "Nothing is selected. Select some text in the editor, then ask again."
            return (Unresolved(reference=reference, code="no_context", message=sentence),)
        if isinstance(place, ResolvedPath) and (refusal := self._attached.secret(place, reference)):
            return (refusal,)
        uri = place.uri
        snapshot = await self._sources.snapshot(uri)
        if snapshot.text is None:
            sentence = f"The text of {quoted(uri)} cannot be read. Open it in the editor, then ask again."
            return (Unresolved(reference=reference, code="no_context", message=sentence),)
        label = place.relative if isinstance(place, ResolvedPath) else uri
        return [
            self._attached.resolved(
                text_of(uri, reference, label).model_copy(update={"kind": "selection"}),
                self._attached.cut(inside(snapshot.text, span, self._sources.encoding)),
                {
                    "range": span,
                    "language_id": self._sources.language_id(uri) or language_of(label),
                    "secret": (isinstance(place, ResolvedPath) and place.secret) or None,
                    "version": snapshot.version,
                },
            )
            for span in chosen
        ]

    async def _diagnostics(self, reference: Reference) -> Found:
        place: ResolvedPath | Snapshot | Unresolved
        if reference.readings:
            found = await self._exact(reference) or await self._elsewhere(reference)
            place = found if isinstance(found, Unresolved) else found[1]
            text = reference.text if isinstance(found, Unresolved) else _as_read(reference, found[0])
        else:
            text = reference.text
            place = await self._active(text)
        if isinstance(place, Unresolved):
            return place
        reported = await self._sources.diagnostics(place.uri)
        if reported is None:
            sentence = "This editor does not report errors and warnings. Paste those that you mean."
            return Unresolved(reference=text, code="no_context", message=sentence)
        label = place.relative if isinstance(place, ResolvedPath) else place.uri
        return self._attached.resolved(
            text_of(place.uri, text, label).model_copy(update={"kind": "diagnostics"}),
            self._attached.cut(findings_of(label, reported.items)),
            {"version": reported.version},
        )

    async def _problems(self, reference: Reference) -> Found:
        """Every error and warning that the editor tells, but for files that may hold secrets or lie elsewhere."""
        reported = await self._sources.problems()
        if reported is None:
            sentence = "This editor does not report errors and warnings. Paste those that you mean."
            return Unresolved(reference=reference.text, code="no_context", message=sentence)
        texts: list[str] = []
        for each in reported:
            place = await self._sources.locate_uri(each.uri)
            if isinstance(place, ResolvedPath) and not place.secret and each.items:
                texts.append(findings_of(place.relative, each.items))
        text = "".join(sorted(texts)) or "The editor reports no errors or warnings.\n"
        return self._text(reference, "diagnostics", text)

    def _terminal(self, reference: Reference) -> Found:
        text = self._context.terminal
        if not text or not text.strip():
            sentence = "No text of a terminal is chosen. Select it there and add it, or paste it."
            return Unresolved(reference=reference.text, code="no_context", message=sentence)
        return self._text(reference, "terminal", plain(text))

    async def _changes(self, reference: Reference) -> Found:
        text, path = reference.text, ""
        if reference.readings:
            found = await self._exact(reference) or await self._elsewhere(reference)
            if isinstance(found, Unresolved):
                return found
            text, path = _as_read(reference, found[0]), found[0].path
        changes = await self._sources.changes(path)
        if changes.diff is None:
            return Unresolved(reference=text, code="no_context", message=changes.problem)
        return self._text(reference._replace(text=text), "changes", changes.diff, language="diff")

    def _text(
        self, reference: Reference, kind: AttachmentKind, text: str, language: str | None = None
    ) -> ResolvedAttachment:
        """An attachment that is no file."""
        attachment = Attachment(
            attachment_id=AttachmentId(""),
            kind=kind,
            reference=reference.text,
            label=reference.text,
            language_id=language,
        )
        return self._attached.resolved(attachment, self._attached.cut(text), {})

    async def _active(self, reference: str) -> ResolvedPath | Snapshot | Unresolved:
        """The active document: a file of the workspace, or one that exists only in the editor."""
        uri = self._context.uri
        if uri is None:
            sentence = f"{reference} means the active file, but none is open. Open one, or name a path."
            return Unresolved(reference=reference, code="no_context", message=sentence)
        place = await self._sources.locate_uri(uri)
        if isinstance(place, ResolvedPath):
            return place
        if place.code == "foreign" and not uri.startswith("file:"):
            snapshot = await self._sources.snapshot(uri)
            if snapshot.text is not None:
                return snapshot
        return refused(reference, place)

    def _link(self, reference: Reference) -> Found:
        uri = Uri(reference.text.removeprefix("@"))
        address = web_address(uri)
        of_image = isinstance(address, WebAddress) and named_image_type(address.target.partition("?")[0])
        attachment = Attachment(
            attachment_id=AttachmentId(""),
            kind="image" if of_image else "link",
            reference=reference.text,
            uri=uri,
            note=LINKED_IMAGE if of_image else "Only the address is passed on; nothing is fetched.",
        )
        return ResolvedAttachment(attachment=attachment)


def _in_lines(symbol: SymbolPlace) -> str:
    first, last = symbol.lines
    return f"{symbol.place.relative}:{first}-{last}"


def _as_read(reference: Reference, reading: Reading) -> str:
    """The reference as typed, up to the end of the chosen reading."""
    if reading.end >= reference.end:
        return reference.text
    return reference.text[: reading.end - reference.start]


def _ambiguous(reference: str, found: Sequence[str]) -> Unresolved:
    sentence = f"{quoted(reference)} could be {_listed(found)}. Name one of them."
    return Unresolved(reference=reference, code="ambiguous", message=sentence, candidates=tuple(found[:20]))


def _listed(paths: Sequence[str]) -> str:
    return " or ".join(map(quoted, paths[:5])) + (" and others" if len(paths) > 5 else "")
