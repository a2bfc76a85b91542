"""Lists the templates, and shows one as its values fill it in."""

from __future__ import annotations

import difflib
from argparse import Namespace
from typing import cast

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.answers import print_json
from planloom.cli.client.connection import Connection, ServerError
from planloom.cli.client.messages import Json
from planloom.cli.client.session import Session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show


async def show_templates(running: Session, args: Namespace) -> int:
    """Print the templates with their parameters, or the steps of one; fails if it cannot be planned with its values."""
    if args.name is not None:
        return await _show_template(running, args)
    listed = await running.request("planloom/template/list")
    if args.json:
        return print_json(listed)
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="bold")
    for heading in ("Template", "Parameters", "What it does"):
        table.add_column(heading)
    for template in listed["templates"]:
        said = one_line(template.get("description") or "", 200)
        table.add_row(one_line(template["name"], 60), _parameters(template), said)
    show.console().print(table)
    return DONE


async def _show_template(running: Session, args: Namespace) -> int:
    template = await named(running.connection, args.name)
    params = {"templateId": template["templateId"], "parameters": dict(args.param)}
    shown = await running.request("planloom/template/preview", params)
    code = FAILED if shown["problems"] else DONE
    if args.json:
        print_json(shown)
        return code
    console = show.console()
    console.print(Text(one_line(template["name"], 200), style="bold"))
    for number, step in enumerate(shown["steps"], start=1):
        show.say(f"{number}. {one_line(step['description'], 300)}")
        if step["instruction"] != step["description"]:
            console.print(Padding(Text(visible(step["instruction"]), style="dim"), (0, 0, 0, 3)))
    for problem in shown["problems"]:
        show.say(f"{problem['name']}: {problem['problem']}", "yellow")
    return code


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
