"""The policy that a launcher of commands enforces: everything that one command may reach, as plain data."""

from __future__ import annotations

from typing import NamedTuple, TypedDict


class Policy(TypedDict):
    """The policy for one command. Folders and files are absolute real paths; what is not there is left out.

    `writable` may be changed, but for what is `read_only` in it; with `throwaway` all of these changes are gone at
    its end. `pinned` are those that cannot be moved. `hidden` is seen empty, or cannot be opened; `shown` is seen
    even below that. Of `plan_folder` `tmp` stands in for the temporary folder of the system and `home` for the folder
    `home` if there is one; changes of what is `cached` are kept in `caches`. `folder` is where the command runs,
    `server` the process that has to live for it. `joined` are open files of a user and a network namespace, to be
    entered instead of a new network. Without `confined` it is only ended with everything that it has started.
    `namespaces`, `landlock` (its version, 0 for none) and `system_calls` say by what means it is held to this.
    """

    arguments: list[str]
    folder: str
    server: int
    plan_folder: str
    home: str
    writable: list[str]
    throwaway: bool
    read_only: list[str]
    hidden: list[str]
    shown: list[str]
    cached: list[str]
    pinned: list[str]
    network: str
    joined: list[int]
    confined: bool
    namespaces: bool
    landlock: int
    system_calls: bool
    memory_bytes: int
    processes: int
    file_bytes: int


class Means(NamedTuple):
    """By what this machine can confine a command. `namespaces` are those of users, mounts, processes and networks;
    `landlock` is its version, 0 without; `system_calls` can be filtered; `supervisor`: everything that a command
    starts can be found and ended; `overlays`: folders can be covered by ones whose changes are thrown away.
    `sandbox_exec` is macOS's, `job_object` Windows' way.
    """

    namespaces: bool = False
    landlock: int = 0
    system_calls: bool = False
    supervisor: bool = False
    overlays: bool = False
    sandbox_exec: bool = False
    job_object: bool = False
