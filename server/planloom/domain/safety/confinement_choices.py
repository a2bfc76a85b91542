"""What an approval of a command says of its confinement, and what else the user may choose: the one wording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from planloom.domain.safety.confinement import Abilities, Confinement, GivenConfinement, Network

_NETWORKS: Final[tuple[Network, ...]] = ("none", "loopback", "all")
_REACHES: Final[Mapping[Network, str]] = {
    "none": "no network",
    "loopback": "the network of this machine only",
    "all": "the whole network",
}
_LABELS: Final[Mapping[Network, str]] = {
    "none": "without network",
    "loopback": "with this machine's network",
    "all": "with network",
}
_UNCONFINED: Final = "Not confined: it has all of your rights."
_NO_MEANS: Final = "Not confined, since this system has no means for it: it has all of your rights."


class ConfinementOffer(Confinement):
    """A confinement that the user may choose instead: a label for its button, and a line that says what it means."""

    label: str
    line: str


class ConfinementRequest(Confinement):
    """What a command gets if it is allowed as shown, which `line` says, and what may be chosen instead.

    `asks_network`: it is more of the network than the user's setting gives, since the command is known to need it.
    The first offer then is what the setting gives.
    """

    line: str
    asks_network: bool = False
    offers: tuple[ConfinementOffer, ...] = ()

    @property
    def shown(self) -> Confinement:
        """What the command gets if it is allowed as shown."""
        return Confinement(confined=self.confined, network=self.network, workspace=self.workspace)


def confinement_request(given: Confinement, needed: Network, abilities: Abilities) -> ConfinementRequest:
    """The request for a command that gets `given` by the settings, and is known to need a network.

    Nothing else can be chosen for one whose changes are thrown away.
    """
    if given.workspace == "throwaway":
        return ConfinementRequest(**given.model_dump(), line=confinement_line(given, abilities))
    if needed == "loopback" and not abilities.loopback:
        needed = "all"
    asks = given.confined and abilities.network and _NETWORKS.index(needed) > _NETWORKS.index(given.network)
    shown = Confinement(network=needed) if asks else given
    return ConfinementRequest(
        confined=shown.confined,
        network=shown.network,
        line=confinement_line(shown, abilities, asks=asks),
        asks_network=asks,
        offers=tuple(_offers(shown, given, abilities)),
    )


def given_confinement(confinement: Confinement, abilities: Abilities) -> GivenConfinement:
    """What a command that starts in this confinement gets."""
    line = confinement_line(confinement, abilities)
    return GivenConfinement(confined=confinement.confined, network=confinement.network, line=line)


def confinement_line(confinement: Confinement, abilities: Abilities, *, asks: bool = False) -> str:
    """What a command gets, in one plain line."""
    if not confinement.confined:
        return _UNCONFINED
    if not abilities.any:
        return _NO_MEANS
    places = " and ".join(["the workspace", *filter(None, [", ".join(abilities.writable)])])
    held = [f"writes only in {places}"] if abilities.files else []
    if confinement.workspace == "throwaway":
        held = ["what it changes in the workspace is thrown away"]
    held += [_REACHES[_given(confinement.network, abilities)]] if abilities.network else []
    held += [] if held else ["what it starts ends with it"]
    wants = "It asks for the network. " if asks else ""
    return " ".join([f"{wants}Confined: {', '.join(held)}.", *abilities.missing])


def _given(network: Network, abilities: Abilities) -> Network:
    """The network that a command gets where this one was allowed."""
    return "none" if network == "loopback" and not abilities.loopback else network


def who_reaches(confinement: Confinement, abilities: Abilities) -> str:
    """Who reaches what a background command serves, in one sentence for models."""
    if not confinement.confined or not abilities.network or confinement.network == "all":
        return (
            "fetch_url reaches what it serves, and so do commands with the network, but no command without."
        )
    if not abilities.namespaces:
        return "It has no network, so nothing reaches what it serves."
    if confinement.network == "loopback":
        return "Other commands and fetch_url reach what it serves."
    return "Other commands of the plan without the whole network reach what it serves; fetch_url does not."


def standing_line(network: Network, abilities: Abilities) -> str:
    """What holds for every command of a plan, for models. `network` is what the settings give."""
    if not abilities.files:
        places = "Commands have the user's rights; $TMPDIR lasts"
    else:
        writable = " and ".join(["the workspace", *filter(None, [", ".join(abilities.writable)])])
        own = "/tmp and ~ last" if abilities.namespaces else "$TMPDIR and ~, not /tmp, last"
        places = f"Commands change only {writable}; {own}"
    if not abilities.network or network == "all":
        reach = "They have the network"
    elif not abilities.namespaces:
        reach = "No network unless the user gives it, not even to each other"
    else:
        but = " but each other's servers" if network == "none" else ""
        reach = f"{_REACHES[network].capitalize()}{but}, unless the user gives more"
    return f"{places} as long as the plan. {reach}."


def _offers(shown: Confinement, given: Confinement, abilities: Abilities) -> Iterator[ConfinementOffer]:
    networks = _NETWORKS if abilities.network and shown.confined else ()
    for network in sorted(networks, key=lambda each: each != given.network):
        if network != shown.network and network == _given(network, abilities):
            yield _offer(Confinement(network=network), _LABELS[network], abilities)
    if abilities.any and shown.confined:
        yield _offer(Confinement(confined=False), "without confinement", abilities)


def _offer(confinement: Confinement, label: str, abilities: Abilities) -> ConfinementOffer:
    line = confinement_line(confinement, abilities)
    return ConfinementOffer(
        confined=confinement.confined, network=confinement.network, label=label, line=line
    )
