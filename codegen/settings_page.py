"""Writes the page of the settings from their models, so that the two never differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planloom.settings import USER_ONLY, Settings

_PROSE = """\
# Settings

<!-- Written by `python -m codegen`; a test compares it with the code. -->

Every name begins with `planloom.` in an editor. All of them are optional. A value that does not fit leaves the field
as it would be without it and is reported once, with the name and the reason; nothing stops the server.

## Where a value comes from

Strongest first; each source gives single fields, the others stay as weaker sources have them.

| source | how |
|---|---|
| command line | `planloom serve --setting model.name=NAME`, `planloom run --set model.name=NAME`; \
a value that is JSON is taken as such |
| environment | the name in capitals: `planloom.model.baseUrl` is `PLANLOOM_MODEL_BASE_URL` |
| user | `settings.json` in the folder `planloom` of the user's configuration \
(`PLANLOOM_CONFIG` names another file), and what an extension sends by `planloom/settings/user`, \
which goes before it |
| initialization | `initializationOptions.planloom` |
| workspace | what the editor answers to `workspace/configuration` or pushes by `workspace/didChangeConfiguration` |

The last source may hold what an opened folder says, and a server cannot tell which part of it does. So the settings
marked **user only** are not taken from it: they could send keys elsewhere, or approve what the folder wants done.

Keys are no settings. They come from `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `PLANLOOM_API_KEY`, or from the editor by
`planloom/secret/set`, and go only to the origin that they were given for. A proxy is set by `PLANLOOM_PROXY` alone.
"""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join((_PROSE, *_tables())) + "\n"


def _tables() -> Iterator[str]:
    groups = [(name, field) for name, field in Settings.model_fields.items() if _group(field)]
    yield "## Requests and tools"
    yield ""
    single = [(name, field) for name, field in Settings.model_fields.items() if not _group(field)]
    yield from _table((_name(name, field), field) for name, field in single)
    for name, field in groups:
        group = _group(field)
        assert group is not None
        yield ""
        yield f"## {_name(name, field)}"
        yield ""
        yield cleandoc(group.__doc__ or "")
        yield ""
        yield from _table(
            (f"{_name(name, field)}.{_name(own, each)}", each) for own, each in group.model_fields.items()
        )


def _table(rows: Iterable[tuple[str, FieldInfo]]) -> Iterator[str]:
    yield "| setting | default | values | |"
    yield "|---|---|---|---|"
    for name, field in rows:
        own = " **User only.**" if name.startswith(USER_ONLY) else ""
        default = json.dumps(field.get_default())
        yield f"| `{name}` | `{default}` | {_values(field)} | {field.description}{own} |"


def _values(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    kinds = [each for each in (get_args(field.annotation) or (field.annotation,)) if each is not Ellipsis]
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "null"}
    shown = " or ".join(names[kind] for kind in kinds)
    if get_origin(field.annotation) is tuple:
        shown = "list of texts"
    return ", ".join(filter(None, (shown, " ".join(_bounds(field)))))


def _bounds(field: FieldInfo) -> Iterator[str]:
    words = {"ge": "from", "gt": "above", "le": "to", "max_length": "at most"}
    for bound in field.metadata:
        for attribute, word in words.items():
            limit = getattr(bound, attribute, None)
            if limit is not None:
                yield f"{word} {limit}" + (" characters" if attribute == "max_length" else "")


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _name(name: str, field: FieldInfo) -> str:
    return field.alias or name
