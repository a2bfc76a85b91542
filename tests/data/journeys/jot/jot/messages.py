"""What the user reads, in the language of the environment."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

LOCALE = Path(__file__).parent.parent / "locale"
DEFAULT = "en"


def language(environment: Mapping[str, str] = os.environ) -> str:
    """The language that the environment asks for, if there are messages in it; else English."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = environment.get(name, "")
        if value:
            code = value.partition(".")[0].partition("_")[0].lower()
            return code if (LOCALE / f"{code}.json").exists() else DEFAULT
    return DEFAULT


class Messages:
    """The messages of a language; those that it lacks are in English."""

    def __init__(self, code: str) -> None:
        self._texts = {**_load(DEFAULT), **_load(code)}

    def __call__(self, key: str, **values: object) -> str:
        return self._texts[key].format(**values)


def _load(code: str) -> dict[str, str]:
    return json.loads((LOCALE / f"{code}.json").read_text(encoding="utf-8"))
