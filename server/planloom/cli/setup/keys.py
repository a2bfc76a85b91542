"""`planloom key`: keeps, lists and removes the keys of model services, and shows none."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from getpass import getpass

from planloom.cli.arguments import usage
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.terminal import show
from planloom.domain.errors import ModelFailed
from planloom.models.http.endpoint import origin_of
from planloom.models.http.keys import usable_key
from planloom.models.kept_keys import KeptKey, KeptKeys, keys_file
from planloom.providers import KEY_PROVIDERS, OWN_VARIABLE, PROVIDERS


def key(args: Namespace) -> int:
    """Keep, list or remove keys. Returns the exit code."""
    kept = KeptKeys(keys_file())
    try:
        if args.action == "list":
            return _list(kept)
        origin = _origin(args.provider, args.base_url)
        return _set(kept, args.provider, origin) if args.action == "set" else _remove(kept, origin)
    except (OSError, ValueError) as error:
        show.say(f"The keys cannot be used: {error}", "bold red", stderr=True)
        return FAILED


def _set(kept: KeptKeys, provider: str, origin: str) -> int:
    value = usable_key(getpass(f"Key for {origin}: ") if sys.stdin.isatty() else sys.stdin.readline())
    if value is None:
        usage("That is no key: it is empty, or contains spaces or non-ASCII characters.")
    place = kept.put(provider, origin, value)
    if place == "keyring":
        show.say(f"The key is in the system's keyring. It is sent to {origin} alone.")
    else:
        show.say(f"The key is in {kept.path}, which only you can read. It is sent to {origin} alone.")
        show.say(
            "The system's keyring is not used: it needs the extra `planloom[keyring]`, and a keyring.", "dim"
        )
    if (variable := _variable(provider, origin)) is not None:
        show.say(f"{variable} is set in the environment, and is used instead where it is.", "yellow")
    return DONE


def _list(kept: KeptKeys) -> int:
    keys = kept.listed()
    for each in keys:
        show.say(f"{each.provider}  {each.origin}  {_place(kept, each)}")
    for row in KEY_PROVIDERS:
        if os.environ.get(row.key_variable):
            show.say(f"{row.name}  {row.home(os.environ)}  {row.key_variable} in the environment")
    if os.environ.get(OWN_VARIABLE):
        show.say(f"any provider  the configured base URL  {OWN_VARIABLE} in the environment")
    if not keys:
        names = " or ".join(f"`planloom key set {row.name}`" for row in KEY_PROVIDERS)
        show.say(f"No key is kept. {names} keeps one.", "dim")
    return DONE


def _remove(kept: KeptKeys, origin: str) -> int:
    if not kept.remove(origin):
        show.say(f"No key is kept for {origin}: `planloom key list` shows those that are.", stderr=True)
        return FAILED
    show.say(f"The key for {origin} is removed.")
    return DONE


def _place(kept: KeptKeys, each: KeptKey) -> str:
    return "the system's keyring" if each.place == "keyring" else str(kept.path)


def _origin(provider: str, base_url: str | None) -> str:
    """The only origin that the key is for; wrong usage if the address cannot be used."""
    try:
        return origin_of(base_url or PROVIDERS[provider].home(os.environ))
    except ModelFailed as failure:
        usage(failure.message)


def _variable(provider: str, origin: str) -> str | None:
    """The environment variable with a key for the same origin."""
    row = PROVIDERS[provider]
    is_home = bool(os.environ.get(row.key_variable)) and _origin(provider, None) == origin
    return row.key_variable if is_home else None
