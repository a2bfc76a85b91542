"""The entry point of the program: `planloom serve` for editors, and the commands that people type."""

from __future__ import annotations

import sys


def main() -> None:
    """Run one command and end with its exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        # Editors wait for this, so nothing of the command line is imported.
        from planloom.lsp.server import serve

        sys.exit(serve(arguments[1:]))
    if arguments in (["--version"], ["-V"]):
        from importlib import metadata

        sys.stdout.write(f"planloom {metadata.version('planloom')}\n")
        return
    from planloom.cli import app

    sys.exit(app.main(arguments))


if __name__ == "__main__":
    main()
