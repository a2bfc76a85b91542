"""How notes look in the terminal."""

from jot.store import Note


def table(notes: list[Note]) -> str:
    """The notes as lines of three columns: number, text, tags."""
    digits = max(len(str(note.number)) for note in notes)
    width = max(len(note.text) for note in notes)
    return "\n".join(_line(note, digits, width) for note in notes)


def _line(note: Note, digits: int, width: int) -> str:
    tags = " ".join(f"#{tag}" for tag in note.tags)
    mark = "✓ " if note.done else ""
    return f"{note.number:>{digits}}  {mark}{note.text:<{width}}  {tags}".rstrip()
