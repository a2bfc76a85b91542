"""The confinement of a command: what it may reach, and how much of that this machine can enforce."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from planloom.domain.values import Value

Network = Literal["none", "loopback", "all"]
"""`loopback` is this machine alone."""
NETWORKS: Final[tuple[Network, ...]] = ("none", "loopback", "all")
"""From the least to the most."""


class Confinement(Value):
    """The rights of one command. Not `confined` it runs with all of the user's rights, and the rest says nothing.

    `git` is the git folder that it may change, but for what runs programs: a path in the workspace folder, or an
    absolute one outside. `writes` are folders that it may change beside the workspace, `reads` places with
    credentials that it sees; `~` is the user's home. `throwaway`: what it changes in the workspace is seen by itself
    alone, and gone at its end.
    """

    confined: bool = True
    network: Network = "none"
    workspace: Literal["write", "throwaway"] = "write"
    git: str | None = None
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def chosen(self) -> Confinement:
        """The rights of the command, without what is said of them."""
        return Confinement.model_validate(self.model_dump(include={*Confinement.model_fields}))

    def with_more(self, more: Confinement) -> Confinement:
        """This one with all that a confined command gets by `more`."""
        return Confinement(
            confined=self.confined,
            workspace=self.workspace,
            network=max(self.network, more.network, key=NETWORKS.index),
            git=more.git or self.git,
            writes=tuple(dict.fromkeys((*self.writes, *more.writes))),
            reads=tuple(dict.fromkeys((*self.reads, *more.reads))),
        )

    def includes(self, other: Confinement) -> bool:
        """Whether a confined command gets all that it would get by `other`."""
        return self.confined and other.confined and self.with_more(other) == self


class GivenConfinement(Confinement):
    """The rights of a command when it started; `line` says them for people, with what the machine could not hold."""

    line: str


class Abilities(NamedTuple):
    """The parts of a confinement that this machine can enforce.

    `files`: it changes only the workspace, and of the user's home reads only that, development tools and copies of
    caches. `namespaces`: the temporary folder and the home of its plan are where programs look for them, and commands
    have a network among themselves. `loopback`: it can get the network of this machine alone. `network`: it reaches
    what its confinement names, and nothing else. `processes`: everything that it has started ends with it, and it sees
    no other process. `how` names the means, as text for people; `missing` has a sentence for each part that is not
    enforced. `writable` are folders beyond those that the user lets it change. `throwaway`: what it changes in the
    workspace can be thrown away.
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

    def hold(self, confinement: Confinement) -> bool:
        """Whether the machine enforces the files and the network of a confinement."""
        return confinement.confined and self.files and (self.network or confinement.network == "all")
