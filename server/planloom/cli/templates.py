"""Lists the templates, and shows one as its values fill it in. Each function returns an exit code."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.client.connection import Connection, ServerError
from planloom.cli.client.messages import Json
from planloom.cli.client.server_process import Server
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.failures import Failure
from planloom.cli.history import answering, print_json
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show


async def list_templates(server: Server, *, folders: Sequence[Path], as_json: bool) -> int:
    """Print the templates with their parameters, or the answer of the server as JSON."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        listed = await running.connection.request("planloom/template/list", {})
        if as_json:
            print_json(listed)
            return DONE
        table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="bold")
        for heading in ("Template", "Parameters", "What it does"):
            table.add_column(heading)
        for template in listed["templates"]:
            said = one_line(template.get("description") or "", 200)
            table.add_row(one_line(template["name"], 60), _parameters(template), said)
        show.console().print(table)
    return failure.code


async def show_template(
    server: Server, name: str, values: Mapping[str, str], *, folders: Sequence[Path], as_json: bool
) -> int:
    """Print a template's steps with some of its values; fails if it cannot be planned with them."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        template = await named(running.connection, name)
        params = {"templateId": template["templateId"], "parameters": dict(values)}
        shown = await running.connection.request("planloom/template/preview", params)
        if as_json:
            print_json(shown)
            return FAILED if shown["problems"] else DONE
        console = show.console()
        console.print(Text(one_line(template["name"], 200), style="bold"))
        for number, step in enumerate(shown["steps"], start=1):
            console.print(Text(f"{number}. {one_line(step['description'], 300)}"))
            if step["instruction"] != step["description"]:
                console.print(Padding(Text(visible(step["instruction"]), style="dim"), (0, 0, 0, 3)))
        for problem in shown["problems"]:
            console.print(Text(f"{problem['name']}: {problem['problem']}", style="yellow"))
        if shown["problems"]:
            return FAILED
    return failure.code


async def named(connection: Connection, name: str) -> Json:
    """The template with this name or id. Raises ServerError if there is none."""
    listed = (await connection.request("planloom/template/list", {}))["templates"]
    for template in listed:
        if name in (template["templateId"], template["name"]) or name.lower() == template["name"].lower():
            return cast("Json", template)
    near = difflib.get_close_matches(name, [template["name"] for template in listed], 1)
    hint = f"Did you mean {near[0]!r}?" if near else "`planloom templates` lists them."
    raise ServerError(f"There is no template {name!r}.", code="unknown_template", hint=hint)


def _parameters(template: Json) -> str:
    """The parameters with their defaults; those that may be left out are in brackets."""
    words = []
    for each in template["parameters"]:
        default = each.get("default")
        words.append(each["name"] if default is None else f"[{each['name']}={one_line(default, 40)}]")
    return ", ".join(words)
