"""Detects whether a text asks to delete, rename or move, so that unrequested destruction can be flagged."""

from __future__ import annotations

import re

from planloom.domain.patterns import pattern
from planloom.domain.values import Json

_DESTRUCTIVE = (
    "apaga apagar borra borrar cancella cancellare clean cleanup delete deletes deleting "
    "destroy discard drop drops déplace déplacer efface effacer elimina eliminar eliminare "
    "entferne entfernen erase lösche löschen move moved mover moves moving mueve mv purge "
    "relocate remove removed remover removes removing rename renamed renames renaming renombra "
    "renombrar renomear renomeia renomme renommer rinomina rinominare rm sposta supprime "
    "supprimer trash umbenennen uninstall unlink verschiebe verschieben wipe "
)
_WORDS = frozenset(_DESTRUCTIVE.split())
_WORD = pattern(r"[^\W\d_]+")
_DELETING = frozenset({"delete", "erase", "wipe", "destroy", "purge", "rm"})
_COMMAND = pattern(
    r"\b(?:rm|rmdir|unlink|shred|mkfs\w*|dd|truncate|del|rd)\s"
    r"|\bgit\s+(?:clean|reset\s+--hard|checkout\s+--|push\s+(?:--force|-f))\b"
    r"|\bfind\b[^\n]{0,2000}-delete\b"
    r"|\bdrop\s+(?:table|database)\b",
    re.IGNORECASE,
)
_COMMAND_LIMIT = 20_000


def destructive_words(text: str) -> frozenset[str]:
    """The words of a text that ask to delete, rename or move something."""
    return frozenset(
        word for word in (found[0].casefold() for found in _WORD.finditer(text)) if word in _WORDS
    )


def names_destruction(description: str) -> bool:
    """Whether the first word of a step's description says that it deletes."""
    first = _WORD.search(description)
    return first is not None and first[0].casefold() in _DELETING


def destructive_command(command: Json) -> bool:
    """Whether a command, as text or as a list of words, looks like one that deletes."""
    if isinstance(command, list):
        command = " ".join(str(part) for part in command)
    return isinstance(command, str) and _COMMAND.search(command[:_COMMAND_LIMIT] + " ") is not None
