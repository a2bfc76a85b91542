"""The entry point of the program: `planloom serve` for editors, and the commands that people type.

What stands here is imported by `python -m` while the working folder is on the search path. So it imports only what
Python has imported already, and not even `__future__`.
"""

import os
import sys


def main() -> None:
    """Run one command and end with its exit code."""
    _forget_working_folder()
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


def _forget_working_folder() -> None:
    """Import nothing from the working folder, which `python -m` without `-I` puts first on the search path."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be looked for in the working folder
    except OSError:
        # The folder is gone, and nothing can be imported from it.
        here = ""
    # `safe_path` is new in Python 3.11; with it the first folder is the standard library's.
    if sys.path and not sys.flags.safe_path and sys.path[0] in ("", here):
        del sys.path[0]


if __name__ == "__main__":
    main()
