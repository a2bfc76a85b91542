"""The commands."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from jot.messages import Messages, language
from jot.render import table
from jot.store import Store


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    args = _parser().parse_args(argv)
    store = Store(Path(os.environ.get("JOT_FILE", "~/.jot.json")).expanduser())
    say = Messages(language())
    if args.command == "add":
        note = store.add(args.text, args.tag)
        print(say("added", number=note.number))
    elif args.command == "list":
        notes = store.notes(args.tag, done=args.all)
        print(table(notes) if notes else say("empty"))
    else:
        change = store.finish if args.command == "done" else store.remove
        try:
            change(args.number)
        except KeyError:
            print(say("missing", number=args.number))
            return 1
        print(say("done" if args.command == "done" else "removed", number=args.number))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jot", description="Notes on the command line.")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="add a note")
    add.add_argument("text")
    add.add_argument("--tag", action="append", default=[])
    listed = commands.add_parser("list", help="list notes")
    listed.add_argument("--tag")
    listed.add_argument("--all", action="store_true", help="also those that are done")
    for name, text in (("done", "mark a note as done"), ("remove", "remove a note for good")):
        commands.add_parser(name, help=text).add_argument("number", type=int)
    return parser
