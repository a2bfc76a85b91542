"""From the references of a message to what is attached: open documents first, then the disk, each only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.values import AttachmentId, Uri
from planloom.intake.attach import Attachments, Found, inside, refused, text_of
from planloom.intake.contents import findings_of
from planloom.intake.languages import language_of
from planloom.intake.reference_sources import Context, Limits, ReferenceSources, Requested, Resolution
from planloom.intake.references import Reading, Reference, find_references
from planloom.workspace.paths.names import shown
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot

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
    """Resolve what the user's own message names, and what was attached beside it.

    `confirmed` are references to secrets, with or without their sign, that may be sent. What is attached is
    never looked through for references again. Nothing is raised: each failure has its code and a sentence.
    """
    attached = Attachments(sources, confirmed, limits)
    resolver = _Resolver(sources, context or _NO_CONTEXT, attached)
    references = find_references(text)
    for reference in references[: limits.references]:
        await resolver.take(reference)
    for extra in requested[: limits.references]:
        await resolver.take_requested(extra)
    left = max(0, len(references) - limits.references) + max(0, len(requested) - limits.references)
    if left:
        first = references[limits.references].text if len(references) > limits.references else "attachments"
        sentence = (
            f"A request may name {limits.references} places; {left} were left out. Name a folder instead."
        )
        attached.add(Unresolved(reference=first, code="too_large", message=sentence))
    return attached.resolution()


async def look_again(
    attachment: Attachment, sources: ReferenceSources, limits: Limits = _LIMITS
) -> ResolvedAttachment | Unresolved | None:
    """What an attached file holds now; None if that is what was attached. Other kinds do not change."""
    if attachment.kind != "file" or attachment.uri is None:
        return None
    confirmed = (attachment.reference,) if attachment.secret else ()
    attached = Attachments(sources, confirmed, limits)
    place = await sources.locate_uri(attachment.uri)
    found = await attached.attach(place, attachment.reference, None, attachment.label, attachment.range)
    if isinstance(found, Unresolved):
        return found
    now = found.attachment.model_copy(update={"attachment_id": attachment.attachment_id})
    if (now.sha256, now.note) == (attachment.sha256, attachment.note):
        return None
    return found.model_copy(update={"attachment": now})


class _Resolver:
    """Looks up the references of one message."""

    def __init__(self, sources: ReferenceSources, context: Context, attached: Attachments) -> None:
        self._sources = sources
        self._context = context
        self._attached = attached
        self._tails: dict[str, tuple[str, ...]] = {}

    async def take(self, reference: Reference) -> None:
        """Resolve one reference of the message."""
        match reference.kind:
            case "link":
                self._attached.add(self._link(reference))
            case "selection":
                for found in await self._selections(reference.text):
                    self._attached.add(found)
            case "diagnostics":
                self._attached.add(await self._diagnostics(reference))
            case "path":
                self._attached.add(await self._path(reference))

    async def take_requested(self, extra: Requested) -> None:
        """Attach what the editor names by its URI."""
        place = await self._sources.locate_uri(extra.uri)
        reference = f"@{place.relative}" if isinstance(place, ResolvedPath) else extra.label or extra.uri
        self._attached.add(await self._attached.attach(place, reference, None, extra.label, extra.range))

    async def _path(self, reference: Reference) -> Found:
        found = await self._exact(reference) or await self._elsewhere(reference)
        if isinstance(found, Unresolved):
            return found
        reading, place = found
        text = _as_read(reference, reading)
        return await self._attached.attach(place, text, reading.lines)

    async def _exact(self, reference: Reference) -> tuple[Reading, ResolvedPath] | Unresolved | None:
        """The first reading that names something below a workspace folder; why the plainest may not be used."""
        refusal: Unresolved | None = None
        for reading in reference.readings:
            place = await self._sources.locate(reading.path)
            if isinstance(place, PathRefused):
                # With several folders open, a path that is in none of them could be in any.
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

    async def _elsewhere(self, reference: Reference) -> tuple[Reading, ResolvedPath] | Unresolved:
        """The one place further down in the workspace whose last names are those of the reference."""
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
        hint = " Check the path, or name it in full."
        if candidates:
            hint = f" There is {_listed(candidates)}."
        elif not self._sources.listed():
            hint = " Not all files are listed yet: ask again in a moment, or name the path in full."
        return Unresolved(
            reference=reference.text,
            code="not_found",
            message=f"No file or folder of the workspace is called {shown(path)}.{hint}",
            candidates=candidates[:10],
        )

    async def _ending_with(self, tail: str) -> tuple[str, ...]:
        """The files, else the folders, whose last names are these; each tail is looked up once a message."""
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
            sentence = "Nothing is selected: select some text in the editor, then ask again."
            return (Unresolved(reference=reference, code="no_context", message=sentence),)
        if isinstance(place, ResolvedPath) and (refusal := self._attached.secret(place, reference)):
            return (refusal,)
        uri = place.uri
        seen = await self._sources.snapshot(uri)
        if seen.text is None:
            sentence = f"The text of {shown(uri)} cannot be read: open it in the editor, then ask again."
            return (Unresolved(reference=reference, code="no_context", message=sentence),)
        label = place.relative if isinstance(place, ResolvedPath) else uri
        return [
            self._attached.resolved(
                text_of(uri, reference, label).model_copy(update={"kind": "selection"}),
                self._attached.cut(inside(seen.text, span, self._sources.encoding)),
                {
                    "range": span,
                    "language_id": self._sources.language_id(uri) or language_of(label),
                    "secret": (isinstance(place, ResolvedPath) and place.secret) or None,
                    "version": seen.version,
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
        told = await self._sources.diagnostics(place.uri)
        if told is None:
            sentence = "This editor does not tell its errors and warnings: paste those that you mean."
            return Unresolved(reference=text, code="no_context", message=sentence)
        label = place.relative if isinstance(place, ResolvedPath) else place.uri
        return self._attached.resolved(
            text_of(place.uri, text, label).model_copy(update={"kind": "diagnostics"}),
            self._attached.cut(findings_of(label, told.items)),
            {"version": told.version},
        )

    async def _active(self, reference: str) -> ResolvedPath | Snapshot | Unresolved:
        """The active document: a file of the workspace, or one that the editor holds and no disk does."""
        uri = self._context.uri
        if uri is None:
            sentence = f"{reference} means the active file, and none is open: open one, or name a path."
            return Unresolved(reference=reference, code="no_context", message=sentence)
        place = await self._sources.locate_uri(uri)
        if isinstance(place, ResolvedPath):
            return place
        if place.code == "foreign" and not uri.startswith("file:"):
            seen = await self._sources.snapshot(uri)
            if seen.text is not None:
                return seen
        return refused(reference, place)

    def _link(self, reference: Reference) -> Found:
        attachment = Attachment(
            attachment_id=AttachmentId(""),
            kind="link",
            reference=reference.text,
            uri=Uri(reference.text.removeprefix("@")),
            note="Only the address is passed on; nothing is fetched.",
        )
        return ResolvedAttachment(attachment=attachment)


def _as_read(reference: Reference, reading: Reading) -> str:
    """The reference as typed, up to where the reading that was taken ends."""
    if reading.end >= reference.end:
        return reference.text
    return reference.text[: reading.end - reference.start]


def _ambiguous(reference: str, found: Sequence[str]) -> Unresolved:
    sentence = f"{shown(reference)} could be {_listed(found)}: name one of them."
    return Unresolved(reference=reference, code="ambiguous", message=sentence, candidates=tuple(found[:20]))


def _listed(paths: Sequence[str]) -> str:
    return " or ".join(map(shown, paths[:5])) + (" and others" if len(paths) > 5 else "")
