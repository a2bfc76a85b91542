"""Generates docs/settings.md from the models of the settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from inspect import cleandoc

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planloom.providers import KEY_VARIABLES
from planloom.settings import LOWERED, MADE_STRICTER, USER_ONLY, Settings, values_words

_KEY_VARIABLES = ", ".join(f"`{name}`" for name in KEY_VARIABLES)
_PROSE = f"""\
# Settings

<!-- Written by `make generate`; a test compares it with the code. -->

In an editor every name begins with `planloom.`; elsewhere it may. All settings are optional. An invalid value is
ignored and reported once, with the name and the reason; it does not stop the server. On a command line it is wrong
usage.

A `settings.json` of the user:

```json
{{
  "planloom.model.baseUrl": "http://localhost:8080/v1",
  "planloom.model.name": "qwen3",
  "planloom.execution.review": "end"
}}
```

## Sources

The strongest source is first. Each source sets single fields; the other fields keep the values of weaker sources.

| source | how |
|---|---|
| command line | `planloom serve --setting model.name=NAME`, `planloom run --set model.name=NAME`; \
a value that is not JSON is a string |
| environment | the name in capitals: `planloom.model.baseUrl` is `PLANLOOM_MODEL_BASE_URL` |
| user | what an extension sends by `planloom/settings/user`, and, weaker, `settings.json` in the folder `planloom` \
of the user's configuration (`PLANLOOM_CONFIG` names another file) |
| initialization | `initializationOptions.planloom` |
| workspace | what the editor answers to `workspace/configuration` or pushes by `workspace/didChangeConfiguration` |

The last source may contain settings of an opened folder, and the server cannot tell which ones. So the settings marked
**user only** are ignored there: they could send keys elsewhere, choose another model, or approve the changes that the
folder asks for. A folder narrows what the user allows: limits it can only lower, and what is asked it can only make
stricter, compared with the user's own values, or with the defaults. What would widen them is ignored and reported.

Several editors fill `initializationOptions` from a file of the opened folder, too. So an editor that names itself
(`clientInfo`) and shows messages with buttons (`window.showMessage.messageActionItem`) is asked once whether what a
folder could not set is from the user's own configuration. The answer is kept in the user's state for these very values
of this editor; until it comes, and if the question is dismissed, only what narrows counts. Nobody is asked where
whoever starts the server vouches for the options by the environment variable `PLANLOOM_OPTIONS=user`, as the extension
for VS Code does. `storage.path` counts from the next start.

Keys are not settings. They come from the editor by `planloom/secret/set`, else from {_KEY_VARIABLES} or
`PLANLOOM_API_KEY`, else from what [`planloom key set`](command-line.md#keys) has kept, and are sent only to the origin
that they are meant for.

Models are reached through the proxy that `PLANLOOM_PROXY` names, else https on other machines through that of
`HTTPS_PROXY`; `NO_PROXY` excepts hosts from both. `HTTP_PROXY` and `ALL_PROXY` are not used: they would read prompts
and keys. Web pages are fetched without a proxy.
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
        own = _scope(name)
        default = json.dumps(field.get_default())
        yield f"| `{name}` | `{default}` | {values_words(field)} | {field.description}{own} |"


def _scope(name: str) -> str:
    if name in LOWERED:
        return " **A folder can only lower it.**"
    if name in MADE_STRICTER:
        return " **User only; a folder can only make it stricter.**"
    return " **User only.**" if name.startswith(USER_ONLY) else ""


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _name(name: str, field: FieldInfo) -> str:
    return field.alias or name
