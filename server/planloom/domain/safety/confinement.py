"""What a command may reach while it runs, and what of that this machine can hold it to."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.domain.values import Value

Network = Literal["none", "loopback", "all"]
"""`loopback` is this machine alone."""


class Confinement(Value):
    """What one command gets. Not `confined` it runs with all of the user's rights, and the rest says nothing.

    `throwaway`: what it changes in the workspace is seen by itself alone, and gone at its end.
    """

    confined: bool = True
    network: Network = "none"
    workspace: Literal["write", "throwaway"] = "write"


class GivenConfinement(Confinement):
    """What a command was given when it started; `line` says it for people, with what the machine could not hold."""

    line: str


class Abilities(NamedTuple):
    """What this machine can hold a confined command to.

    `files`: it changes only the workspace, and of the user's home reads only that, development tools and copies of
    caches. `namespaces`: the temporary folder and the home of its plan are where programs look for them, and commands
    have a network among themselves. `loopback`: it can get the network of this machine alone. `network`: it reaches
    what its confinement names, and nothing else. `processes`: everything that it has started ends with it, and it sees
    no other process. `how` names the means, as text for people; `missing` has a sentence for each thing that it is not
    held to. `writable` are folders beyond those that the user lets it change.
    `throwaway`: what it changes in the workspace can be thrown away.
    """

    files: bool
    network: bool
    processes: bool
    how: str
    namespaces: bool = False
    loopback: bool = True
    missing: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    throwaway: bool = False

    @property
    def any(self) -> bool:
        """Whether a confined command differs in anything from another."""
        return self.files or self.network or self.processes
