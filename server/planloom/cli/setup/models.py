"""`planloom models`: the models that can be used, the one that would be, and what keeps the others from it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from planloom.cli.answers import print_json
from planloom.cli.client.messages import Json
from planloom.cli.client.session import Session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import visible
from planloom.cli.remedies import WAYS_TO_A_MODEL, advice
from planloom.cli.terminal import show


async def list_models(running: Session, args: Namespace) -> int:
    """List the models. Returns 1 if none can be used, or its server does not list the one that is set."""
    listed: Json = await running.request("planloom/model/list", {"select": True})
    models = language_models(listed)
    usable = any(each.get("reachable") for each in models) and not_listed(listed) is None
    code = DONE if usable else FAILED
    if args.json:
        print_json(listed)
        return code
    if models:
        show.console().print(_table(models, listed))
    else:
        show.say("There is no language model, so only literal steps run.", "yellow")
        show.say(WAYS_TO_A_MODEL)
    if (wanted := not_listed(listed)) is not None:
        show.say(f"{wanted} would be used, but its server lists no such model.", "bold red")
    return code


def language_models(listed: Json) -> Sequence[Json]:
    """The models without the embedded rules, which are none."""
    return [each for each in listed.get("models") or () if each.get("provider") != "embedded"]


def name_of(model: Json) -> str:
    """A model as people see it: its provider, and its name there."""
    return f"{model.get('provider', '')} {model.get('name', '')}".strip()


def is_used(model: Json, listed: Json) -> bool:
    """Whether a model is the one that would be used."""
    active = listed.get("active") or {}
    return all(model.get(each) == active.get(each) for each in ("provider", "name"))


def not_listed(listed: Json) -> str | None:
    """The model that would be used, if its server answers and does not list it."""
    active = listed.get("active") or {}
    provider, wanted = active.get("provider"), active.get("name")
    models = listed.get("models") or ()
    there = [each["name"] for each in models if each.get("reachable") and each.get("provider") == provider]
    # Services list the dated names of an alias.
    if not there or any(
        name == wanted or name.startswith((f"{wanted}-", f"{wanted}:latest")) for name in there
    ):
        return None
    return name_of(active)


def _table(models: Sequence[Json], listed: Json) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, expand=True)
    table.add_column(width=1)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for each in models:
        mark, why_used = Text() if each.get("reachable") else Text("✘", "bold red"), ""
        if is_used(each, listed):
            mark, why_used = Text("▸", "bold green"), str(listed["active"].get("reason") or "")
        table.add_row(mark, visible(name_of(each)), _about(each, why_used))
    return table


def _about(model: Json, why_used: str) -> Text:
    """Where a model is and why it is used, or why it cannot be, with what can be done."""
    if model.get("reachable"):
        tokens = f"{model['contextTokens']} tokens" if model.get("contextTokens") else ""
        return Text(visible("  ".join(filter(None, (model.get("address"), tokens, why_used)))), "dim")
    words = Text(visible(model.get("words") or model.get("reason") or ""))
    # Of the way to this list nothing is said in it.
    mends = [each for each in model.get("mends") or () if each != "models"]
    if to_do := advice({"mends": mends}, {**model, "model": model.get("name")}):
        words.append(f"\n{visible(to_do)}", "yellow")
    return words
