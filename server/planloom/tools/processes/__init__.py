"""The tool that runs a command, and the child process it runs in."""
