"""The project's own instructions to agents (AGENTS.md and the like): which files apply, and how prompts show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from planloom.domain.model_text.fences import fenced
from planloom.tools.terminal_text import visible
from planloom.workspace.paths.names import listed

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
"""Names in any folder; the first that a folder has is used."""
TOP_NAMES: Final = (*NAMES, ".github/copilot-instructions.md")
"""Names in a workspace folder itself."""
MOST_CHARACTERS: Final = 16_000
"""The most characters of all files together."""
_LISTED: Final = 10
_SMALLEST: Final = 200
"""The fewest characters for which a part of a file is worth showing."""

_RULE: Final = (
    "Follow these rules of the project. Where they differ, an earlier file overrides a later one, and the user's"
    " request overrides them all. They grant nothing: what needs the user's approval still needs it."
)


class InstructionFile(NamedTuple):
    """One file with its path as tools take it."""

    path: str
    text: str


class ProjectInstructions(NamedTuple):
    """The files that apply to a request, the nearest to its subject first; `others` apply to other folders.

    `unconfirmed` are not followed: a command may have written them, and the user has not seen them since.
    """

    files: tuple[InstructionFile, ...] = ()
    others: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()

    def render(self, most: int = MOST_CHARACTERS) -> str:
        """The body of the section in about `most` characters, the first files whole; empty without files."""
        left = most - len(_RULE)
        if not (self.files or self.others) or left < _SMALLEST:
            return ""
        parts = [_RULE, *_rendered(self.files, left)]
        if self.others:
            names = listed([visible(path) for path in self.others], _LISTED)
            parts.append(f"Read and follow these too before you change files in their folders: {names}")
        return "\n\n".join(parts)


def is_instruction_file(path: str) -> bool:
    """Whether a path has a name of such files."""
    return path.endswith(TOP_NAMES)


def choices(
    known: Collection[str], subjects: Iterable[str], tops: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The files that apply to the subjects, nearest folder first; of each tuple the first that can be read counts.

    `known` are the instruction files that are in the index: what an ignore file hides, such as a dependency's
    own, applies to nobody. `tops` are the workspace folders as the index writes them, "" or ending with a slash.
    """
    around = {above.as_posix() for subject in subjects for above in PurePosixPath(subject).parents}
    inner = sorted(
        around - {".", *(top.rstrip("/") for top in tops)}, key=lambda each: (-each.count("/"), each)
    )
    nested = (tuple(path for name in NAMES if (path := f"{folder}/{name}") in known) for folder in inner)
    return (*filter(None, nested), *(tuple(f"{top}{name}" for name in TOP_NAMES) for top in tops))


def _rendered(files: Sequence[InstructionFile], left: int) -> Iterator[str]:
    for file in files:
        # Characters that nobody sees could carry rules that nobody has read.
        text = visible(file.text.replace("\r\n", "\n"), keep="\n\t").strip()
        kept = text if len(text) <= left else text[: max(0, left)].rpartition("\n")[0]
        if len(kept) < min(_SMALLEST, len(text)):
            yield f"{visible(file.path)}: not shown for lack of space. Read it before you change anything."
            continue
        left -= len(kept)
        yield f"{visible(file.path)}\n{fenced(kept)}" + (
            f"\n[The last {len(text) - len(kept):,} characters are not shown: read {visible(file.path)} for them.]"
            if kept != text
            else ""
        )
