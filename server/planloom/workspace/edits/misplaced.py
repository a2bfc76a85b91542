"""Finds an edit that the editor made in a newer text than it was sent for, and takes it back.

A client without versions, or one that does not compare them, makes an edit in whatever it holds. What was typed while
the edit was under way, and told only later, then moves the lines that the positions mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final, NamedTuple

from planloom.domain.text.diff import hunks, text_edits
from planloom.domain.text.live_text import LiveText
from planloom.domain.text.positions import Encoding, LineIndex, TextEdit, apply_edits
from planloom.domain.values import Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import Editor, EditorEdit, EditorSilent, TextOperation
from planloom.workspace.paths.uris import normalized
from planloom.workspace.staged.rebase import three_way

_MOST: Final = 200
"""How many states of a document are kept; more than that are not typed while one edit is under way."""
_UNDISTURBED: Final = 2
"""The states of a document in which nothing was typed while it was edited."""
_TRIES: Final = 5
"""How often an edit is taken back, which can be misplaced like the edit itself."""


class Misplaced(NamedTuple):
    """A text in which edits were made, and the texts from then on, of which the first is what came of it."""

    before: str
    states: tuple[str, ...]

    def taken_back(self, edits: Sequence[TextEdit], encoding: Encoding) -> str:
        """The last text as if the edits had never been made: what was typed or deleted before and after stays so."""
        parts = _parts(self.before, edits, encoding)
        for earlier, later in pairwise(self.states):
            if later == self.before:
                # The user has undone the edits in the editor.
                parts = [_Part(later)]
                continue
            for hunk in reversed(hunks(earlier, later)):
                span = (hunk.before_start, hunk.before_end)
                parts = _spliced(parts, span, later[hunk.after_start : hunk.after_end])
        return "".join(part.text if part.instead is None else part.instead for part in parts)


class _Part(NamedTuple):
    """A part of a text; one that the edits inserted has `instead` the text that they removed."""

    text: str
    instead: str | None = None


def _parts(before: str, edits: Sequence[TextEdit], encoding: Encoding) -> list[_Part]:
    """The parts that edits made of a text."""
    index = LineIndex(before)
    parts: list[_Part] = []
    passed = 0
    for edit in sorted(edits, key=lambda edit: index.offset(edit.range.start, encoding)):
        start, end = (index.offset(place, encoding) for place in (edit.range.start, edit.range.end))
        parts += (_Part(before[passed:start]), _Part(edit.new_text, before[start:end]))
        passed = end
    return [*parts, _Part(before[passed:])]


def _spliced(parts: Sequence[_Part], span: tuple[int, int], new: str) -> list[_Part]:
    """The parts after a change of their text; what the edits have removed stays with them, whatever becomes of them."""
    changed: list[_Part] = []
    place = 0
    for part in parts:
        head, tail = part.text[: max(0, span[0] - place)], part.text[max(0, span[1] - place) :]
        if new and span[0] <= place + len(part.text):
            changed += (part._replace(text=head), _Part(new), _Part(tail, part.instead and ""))
            new = ""
        else:
            changed.append(part._replace(text=head + tail))
        place += len(part.text)
    return changed


class TextHistory:
    """The texts that documents have had from now on until `stop`, with those between the changes of one message."""

    def __init__(self, documents: DocumentStore, uris: Iterable[Uri]) -> None:
        self._documents = documents
        self._texts: dict[Uri, list[LiveText]] = {}
        for uri in uris:
            if (document := documents.get(uri)) is not None:
                self._texts[document.uri] = [document.content]
        self.stop = documents.listen(self._on_change)

    def first(self, uri: Uri) -> str:
        """The text that a document had at first, which must have been open."""
        return self._texts[normalized(uri)][0].text

    def had(self, uri: Uri, text: str) -> bool:
        """Whether a document has come to have this text."""
        return any(each.text == text for each in self._texts[normalized(uri)][1:])

    def misplaced(self, operation: TextOperation) -> Misplaced | None:
        """Where the editor made these edits, if what came of it is not what the merge would be."""
        texts = [each.text for each in self._texts.get(normalized(operation.uri), ())]
        if len(texts) <= _UNDISTURBED:
            return None
        encoding = self._documents.encoding
        after = apply_edits(texts[0], operation.edits, encoding)
        # The last such text: what was typed in lines that the edits remove makes no difference to the result.
        for place in range(len(texts) - 1, 0, -1):
            text = texts[place]
            made = apply_edits(text, operation.edits, encoding)
            if made == text or made not in texts[place + 1 :]:
                continue
            if made == after and _is_half_made(texts[0], text, after):
                continue
            merged = three_way(texts[0], text, after)
            if merged.kind == "merged" and merged.text == made:
                return None
            return Misplaced(text, tuple(texts[texts.index(made, place + 1) :]))
        return None

    def _on_change(self, changed: Uri) -> None:
        document, texts = self._documents.get(changed), self._texts.get(changed)
        if document is not None and texts is not None and len(texts) < _MOST:
            texts += [*document.passed, document.content]


def _is_half_made(before: str, text: str, after: str) -> bool:
    """Whether a text is as `before` up to a place and as `after` behind it, or the other way round.

    An editor that makes only what differs of an edit, change by change, passes through such texts.
    """
    return any(
        _alike(text, start) + _alike(text[::-1], end[::-1]) >= len(text)
        for start, end in ((before, after), (after, before))
    )


def _alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)


async def is_taken_back(
    documents: DocumentStore,
    editor: Editor,
    operation: TextOperation,
    history: TextHistory,
    *,
    patience: float,
    tries: int = _TRIES,
) -> bool:
    """Whether these edits were misplaced, and the document is as if they had never been made.

    What was typed before and after them stays. `patience` is how many seconds the editor may take to tell of a change.
    """
    found = history.misplaced(operation)
    while found is not None and (tries := tries - 1):
        document = documents.get(operation.uri)
        if document is None:
            return False
        if found.states[-1] != document.text:
            found = found._replace(states=(*found.states, document.text))
        wanted = found.taken_back(operation.edits, documents.encoding)
        back = TextOperation(
            uri=operation.uri,
            version=document.version if editor.capabilities.document_changes else None,
            edits=text_edits(document.text, wanted, documents.encoding),
        )
        since = TextHistory(documents, (operation.uri,))
        try:
            with suppress(EditorSilent):
                await editor.apply(
                    EditorEdit(label="Planloom: take back a misplaced edit", operations=(back,))
                )
            shows = await is_shown(documents, back, since, wanted, patience)
        finally:
            since.stop()
        if since.misplaced(back) is None:
            return shows
        if not await is_taken_back(documents, editor, back, since, patience=patience, tries=tries):
            return False
    return False


async def is_shown(
    documents: DocumentStore, operation: TextOperation, history: TextHistory, after: str, patience: float
) -> bool:
    """Whether a document comes to contain these edits, which made `after`; False as soon as they are misplaced."""
    before = history.first(operation.uri)

    def contains() -> bool:
        now = documents.get(operation.uri)
        if history.had(operation.uri, after):
            return True
        merged = None if now is None else three_way(before, now.text, after)
        return now is not None and merged is not None and merged.kind == "merged" and merged.text == now.text

    def is_misplaced() -> bool:
        return history.misplaced(operation) is not None

    is_settled = await documents.wait_until(lambda: is_misplaced() or contains(), patience)
    return is_settled and not is_misplaced()
