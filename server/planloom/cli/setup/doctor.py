"""`planloom doctor`: checks what Planloom needs, says what to do about what is missing, and repairs the ledger."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from planloom.cli.answers import reported
from planloom.cli.arguments import model_settings
from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.messages import Json
from planloom.cli.client.model_memory import decisions
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import visible
from planloom.cli.remedies import WAYS_TO_A_MODEL, advice
from planloom.cli.setup.models import is_used, language_models, name_of, not_listed
from planloom.cli.terminal import keyboard, show
from planloom.cli.terminal.keyboard import EndOfInput, forget_typed, read_line
from planloom.domain.text.counted import counted
from planloom.providers import OWN_PROXY, TUNNELS
from planloom.user_folders import state_folder

if TYPE_CHECKING:
    from planloom.service.repair import Examined

State = Literal["found", "optional", "missing"]
_MARKS: Mapping[State, tuple[str, str]] = {
    "found": ("✔", "bold green"),
    "optional": ("!", "bold yellow"),
    "missing": ("✘", "bold red"),
}

_OTHER_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_ASSUMED = (
    "Its server does not say how large its context is: "
    "`planloom config set model.contextTokens N` sets the real size."
)


class Finding(NamedTuple):
    """One checked thing: what was found, and what to do if that is not enough."""

    state: State
    subject: str
    found: str
    advice: str = ""


async def doctor(process: Server, args: Namespace) -> int:
    """Print every finding, or repair the ledger. Returns 1 if something that is needed is missing, else 0.

    A model is needed only if the command line names one, since literal steps run without a model.
    """
    if args.repair:
        return await _repair_ledger(process, args)
    folders: list[Path] = args.workspace
    needed = bool(args.base_url or args.model or args.provider)
    findings = [
        python(sys.version_info[:3]),
        *packages(),
        git(shutil.which("git")),
        editor(keyboard.editor_command()),
        *proxy(os.environ),
        *(workspace(folder, decisions().is_trusted) for folder in folders),
    ]
    findings += await _ask_server(process, [folder for folder in folders if folder.is_dir()], needed)
    show.console().print(_table(findings))
    if args.report is not None and not _written(args, findings):
        return FAILED
    missing = sum(finding.state == "missing" for finding in findings)
    if missing:
        show.say(f"{missing} {'thing is' if missing == 1 else 'things are'} missing.", "bold red")
    elif any(finding.state == "optional" for finding in findings):
        show.say("Everything that is needed is there. Look at the lines marked !.", "bold yellow")
    else:
        show.say("Everything that is needed is there.", "bold green")
    return FAILED if missing else DONE


def python(version: tuple[int, ...]) -> Finding:
    """The interpreter."""
    shown = ".".join(map(str, version))
    if version < (3, 11):
        return Finding("missing", "Python", shown, "Planloom needs Python 3.11 or newer.")
    return Finding("found", "Python", f"{shown}  {sys.executable}")


def packages() -> Iterator[Finding]:
    """The packages that Planloom's metadata requires; one finding if all are installed."""
    missing: list[Finding] = []
    count = 0
    for requirement in metadata.requires("planloom") or ():
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement:
            continue
        count += 1
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(
                Finding("missing", "package", name, f"{sys.executable} -m pip install '{requirement}'")
            )
    yield from missing or [
        Finding("found", "packages", f"planloom {metadata.version('planloom')}, {count} packages")
    ]


def git(path: str | None) -> Finding:
    """The program with which the workspace's changes are read."""
    if path is None:
        return Finding(
            "optional", "git", "not found", "Install it: without it no plan knows what has changed, or when."
        )
    return Finding("found", "git", path)


def editor(command: Sequence[str] | None) -> Finding:
    """The program in which a plan or a change is edited at a terminal."""
    if not command or shutil.which(command[0]) is None:
        found = f"{command[0]} is not found" if command else "none"
        return Finding(
            "optional", "editor", found, "Set EDITOR to one: `e` at a review opens the plan in it."
        )
    return Finding("found", "editor", f"{command[0]}, for `e` at a review")


def proxy(environment: Mapping[str, str]) -> Iterator[Finding]:
    """The proxy to model servers, or one of the environment that is not used."""
    if environment.get(OWN_PROXY):
        yield Finding("found", "proxy", f"{OWN_PROXY}, for all model servers but those in NO_PROXY")
    elif used := next(filter(environment.get, TUNNELS), None):
        yield Finding("found", "proxy", f"{used}, for model servers over https but those in NO_PROXY")
    elif other := next(filter(environment.get, _OTHER_PROXIES), None):
        advice = f"It would read prompts and keys. {TUNNELS[-1]} or {OWN_PROXY} names one that is."
        yield Finding("optional", "proxy", f"{other} is not used", advice)


def workspace(folder: Path, is_trusted: Callable[[Path], bool | None]) -> Finding:
    """A folder of the workspace. `is_trusted` returns None if the user has not decided on it."""
    if not folder.is_dir():
        return Finding("missing", "workspace", str(folder), "It is not a folder: name one with --workspace.")
    if not os.access(folder, os.R_OK | os.X_OK):
        return Finding("missing", "workspace", str(folder), "It cannot be read: check its permissions.")
    if not os.access(folder, os.W_OK):
        return Finding(
            "optional", "workspace", str(folder), "It is read-only: plans can be made, but not carried out."
        )
    trusted = is_trusted(folder)
    if not trusted:
        state = "only read" if trusted is False else "not trusted yet"
        return Finding("optional", "workspace", f"{folder}  {state}", "Trust it by `planloom trust`.")
    return Finding("found", "workspace", f"{folder}  trusted")


def ledger(path: str, note: str = "") -> Finding:
    """The file in which plans are stored; `note` is what its file system does not allow."""
    if not path:
        return Finding("optional", "ledger", "in memory", "Plans are lost when the server ends: see the log.")
    file = Path(path)
    nearest = next((parent for parent in (file, *file.parents) if parent.exists()), file)
    if not os.access(nearest, os.W_OK):
        advice = "It cannot be written: check its permissions, or choose another place by --set storage.path=FOLDER."
        return Finding("missing", "ledger", path, advice)
    return Finding("optional" if note else "found", "ledger", path, note)


def server(status: Json, seconds: float) -> Iterator[Finding]:
    """The server's version, log, ledger and problems."""
    started = f"{status.get('version', '?')}, protocol {status.get('protocolVersion', '?')}, ready in {seconds:.1f} s"
    yield Finding("found", "server", started)
    if status.get("logPath"):
        yield Finding("found", "log", status["logPath"])
    yield ledger(status.get("storagePath") or "", status.get("storageNote") or "")
    for problem in status.get("problems") or []:
        yield Finding("optional", "problem", str(problem))


def commands(held_to: Json) -> Finding:
    """By what means commands are confined, and what they are not held to."""
    missing = [str(each) for each in held_to.get("missing") or []]
    how = held_to.get("how") or "nothing"
    found = "not confined: they have all rights of the user" if how == "nothing" else f"confined by {how}"
    if writable := [str(each) for each in held_to.get("writable") or []]:
        found += f"; they may also write in {', '.join(writable)}"
    return Finding("optional" if missing else "found", "commands", found, " ".join(missing))


def language_servers(listed: Sequence[Json]) -> Iterator[Finding]:
    """The language servers that judge changes before they are made, and how to get one where there is none."""
    if not listed:
        yield Finding("found", "languages", "no file here needs a language server")
    for each in listed:
        name, state, why = each.get("name") or "?", each.get("state") or "", each.get("why") or ""
        if state == "missing":
            yield Finding("optional", "languages", f"none for {each.get('program')} files", f"{name}: {why}")
        else:
            is_well = state in ("ready to start", "starting", "running")
            found = f"{name}, {state}  {each.get('program') or ''}"
            yield Finding("found" if is_well else "optional", "languages", found, "" if is_well else why)


def mcp_servers(listed: Sequence[Json]) -> Iterator[Finding]:
    """The user's MCP servers, which were started to see whether each runs."""
    if not listed:
        yield Finding("found", "mcp", "no servers are set")
    for each in listed:
        name, state, why = each.get("name") or "?", each.get("state") or "", each.get("why") or ""
        is_well = state == "running"
        tools = f", {counted(each.get('tools') or 0, 'tool')}" if is_well else ""
        found = f"{name}, {state}{tools}  {each.get('program') or ''}".rstrip()
        yield Finding("found" if is_well else "optional", "mcp", found, "" if is_well else why)


def extensions(listed: Sequence[Json]) -> Iterator[Finding]:
    """The packages that the user has enabled, and what each brings."""
    for each in listed:
        name = each.get("name") or "?"
        if each.get("state") == "loaded":
            brings = ", ".join(map(str, each.get("brings") or ()))
            yield Finding("found", "extension", f"{name} {each.get('version') or ''}: {brings}")
        else:
            why = f"It is not used: {each.get('why') or 'it has failed'}."
            yield Finding("optional", "extension", name, why)


def model(listed: Json, *, needed: bool) -> Iterator[Finding]:
    """The models, and whether each can be reached. The embedded rules are always listed, but are no model."""
    without: State = "missing" if needed else "optional"
    for item in listed.get("models") or []:
        name, reason = name_of(item), item.get("reason") or ""
        if not item.get("reachable"):
            problem = {**item, "model": item.get("name")}
            yield Finding(without, "model", f"{name}: {item.get('words') or reason}", advice(item, problem))
            continue
        details = [f"{item['contextTokens']} tokens"] if item.get("contextTokens") else []
        to_do = ""
        if is_used(item, listed):
            if listed.get("contextTokens"):
                assumed = bool(listed.get("contextAssumed"))
                details = [f"{listed['contextTokens']} tokens{' assumed' if assumed else ''}"]
                to_do = _ASSUMED if assumed else ""
            details.append("in use")
        found = ", ".join([name, *details, *([reason] if reason else [])])
        yield Finding("optional" if to_do else "found", "model", found, to_do)
    if (unlisted := not_listed(listed)) is not None:
        lists = "Its server lists no such model: `planloom models` shows which it has."
        yield Finding(without, "model", unlisted, lists)
    if not language_models(listed):
        yield Finding(without, "model", "no language model, so only literal steps run", WAYS_TO_A_MODEL)


async def _ask_server(process: Server, folders: Sequence[Path], model_needed: bool) -> list[Finding]:
    findings: list[Finding] = []
    started = time.monotonic()
    try:
        async with session(
            process, folders, say=lambda level, message: findings.append(_message(level, message))
        ) as opened:
            findings += server(opened.status, time.monotonic() - started)
            held_to = await opened.request(
                "planloom/status", {"commands": True, "languages": True, "mcp": True}
            )
            findings.append(commands(held_to.get("commands") or {}))
            findings += language_servers(held_to.get("languages") or [])
            findings += mcp_servers(held_to.get("mcp") or [])
            findings += extensions(held_to.get("extensions") or [])
            try:
                listed = await opened.request("planloom/model/list", {"select": True})
            except ServerError as error:
                without: State = "missing" if model_needed else "optional"
                findings.append(Finding(without, "model", error.words, error.hint or ""))
            else:
                findings += model(listed, needed=model_needed)
    except ServerError as error:
        findings.append(Finding("missing", "server", error.words, error.hint or ""))
    except ServerLost as error:
        findings.append(Finding("missing", "server", str(error), error.tail))
    return findings


def _written(args: Namespace, findings: Sequence[Finding]) -> bool:
    """Write the report; False if that failed, which is said."""
    # Imported here, with pydantic, which nothing else of this command needs.
    from planloom.cli.setup.report import report

    log = next(
        (Path(each.found) for each in findings if each.subject == "log"), state_folder() / "planloom.log"
    )
    settings = [*args.set, *model_settings(args)]
    try:
        args.report.write_text(report(findings, args.workspace, settings, log), encoding="utf-8")
    except OSError as error:
        show.say(f"The report cannot be written: {error}.", "bold red")
        return False
    show.say(
        f"The report is in {args.report}. It holds no keys and no names of files; read it before you send it."
    )
    return True


def _message(level: str, message: str) -> Finding:
    return Finding("missing" if level == "error" else "optional", "message", message)


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, expand=True)
    table.add_column(width=1)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(ratio=1, overflow="fold")
    for finding in findings:
        text = Text(visible(finding.found))
        if finding.advice:
            text.append(f"\n{visible(finding.advice)}", "yellow")
        table.add_row(Text(*_MARKS[finding.state]), finding.subject, text)
    return table


async def _repair_ledger(process: Server, args: Namespace) -> int:
    """Repair the ledger that the server's settings name. Returns 1 if it is damaged and was not repaired, else 0.

    The server is asked for the place of the ledger only, and has ended before the ledger is opened. Without `--yes`
    a person at the terminal is asked first; without a terminal nothing is changed.
    """
    # Imported here, with the ledger and pydantic, which no other command needs.
    from planloom.domain.errors import StorageFailed
    from planloom.service.repair import examined

    path, failed = Path(), partial(show.failure, show.console())
    with reported(failed) as failure:
        async with session(process, []) as opened:
            path = Path(opened.status.get("storagePath") or "")
    if failure:
        return FAILED
    try:
        with examined(path) as found:
            if found.is_sound:
                plans = counted(len(found.readable), "plan")
                show.say(f"The plan ledger {path} is in order: {plans}.", "green")
                return DONE
            _describe(path, found)
            if not args.yes and not (args.terminal and await _agreed()):
                show.say("Nothing was changed. --yes repairs it without asking.", "yellow")
                return FAILED
            repaired = found.repair(datetime.now())
    except StorageFailed as error:
        failed(error.message, error.hint)
        return FAILED
    show.say("The ledger is repaired.", "bold green")
    show.say(f"The old file is {repaired.kept}.")
    for file in repaired.exported:
        show.say(f"A damaged plan is in {file}.")
    return DONE


def _describe(path: Path, found: Examined) -> None:
    what = "is damaged" if found.faults or found.damaged else "has lost its plans"
    show.say(f"The plan ledger {path} {what}.", "bold red")
    for fault in found.faults:
        show.say(f"  {fault}", "dim")
    show.say(f"{counted(len(found.readable), 'plan')} can be read and will be in a new ledger.")
    if found.damaged:
        show.say(
            f"{counted(len(found.damaged), 'plan')} cannot: what is left of the events will be in JSON files"
            " beside it."
        )
    if found.backup is not None and found.lost:
        show.say(
            f"{found.backup.sentence}: {counted(len(found.lost), 'plan')} that the ledger lacks will be taken back"
            " from it. What these have done since is not in it."
        )
    show.say("The old file will be kept under another name.")


async def _agreed() -> bool:
    forget_typed()
    show.console().print("Repair it? [y/N] ", end="", markup=False)
    try:
        return (await read_line()).strip().lower() in ("y", "yes")
    except EndOfInput:
        return False
