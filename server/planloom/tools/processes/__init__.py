"""The tool that runs a command, and one bounded child process."""
