"""The entry point of the program: `planloom serve` for editors, `planloom mcp` for agents, commands for people.

What stands here is imported by `python -m` while the working folder is on the search path. So it imports only what
Python has imported already, and not even `__future__`.
"""

import os
import sys


def main() -> None:
    """Run one command and end the process with its exit code.

    Python would take a tenth of a second to dismantle the loaded modules. A command that has returned has closed
    whatever needs closing, and a process that is killed must leave nothing worse behind anyway.
    """
    code = 1
    try:
        code = _outcome()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BrokenPipeError:
        # Nobody reads the output any more.
        code = code or 1
    except OSError as error:
        if error.filename is not None:
            raise
        # Only a stream has no name.
        code = code or 1
        sys.stderr.write(f"planloom: The output cannot be written: {error.strerror}.\n")
        sys.stderr.flush()
    os._exit(code)


def _outcome() -> int:
    """The exit code, also where the arguments end the command at once."""
    try:
        return exit_code()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def exit_code() -> int:
    """Run the command of `sys.argv`; returns its exit code. Raises SystemExit where its arguments end it at once."""
    _forget_working_folder()
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        # Editors wait for this, so nothing of the command line is imported.
        from planloom.lsp.server import serve

        return serve(arguments[1:])
    if arguments[:1] == ["acp"]:
        from planloom.acp.server import acp

        return acp(arguments[1:])
    if arguments in (["--version"], ["-V"]):
        from planloom.version import VERSION

        sys.stdout.write(f"planloom {VERSION}\n")
        return 0
    if arguments[:1] == ["mcp"]:
        return _serve_agent(arguments)
    from planloom.cli import app

    return app.main(arguments)


def _serve_agent(arguments: list[str]) -> int:
    """Serve another agent by MCP, whose library is an extra."""
    from planloom.cli.arguments import check, parsed, server_options, usage

    args = parsed(arguments)
    check(args)
    try:
        from planloom.mcp.server import serve
        from planloom.mcp.workspace import Options
    except ModuleNotFoundError as error:
        usage(f"`planloom mcp` needs the extra: pip install 'planloom[mcp]' ({error}).")
    settings = [each.partition("=")[2] for each in server_options(args)]
    return serve(Options(args.roots, args.trust, not args.ask_elsewhere, settings))


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
