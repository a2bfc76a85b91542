"""The words for the confinement of a command in its approval, and for the other choices of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from planloom.domain.safety.confinement import NETWORKS, Abilities, Confinement, GivenConfinement, Network

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
    """The rights of a command if it is allowed as shown, which `line` says, and the offers to choose instead.

    `asks_network`: more of the network than the user's setting gives, since the command is known to need it.
    The first offer is what the setting gives, if that is less. `held`: the machine can enforce the confinement.
    """

    line: str
    asks_network: bool = False
    held: bool = True
    offers: tuple[ConfinementOffer, ...] = ()


def confinement_request(given: Confinement, needed: Confinement, abilities: Abilities) -> ConfinementRequest:
    """The request for a command that gets `given` by the settings, and is known to need `needed`.

    Nothing else can be chosen for one whose changes are thrown away.
    """
    if given.workspace == "throwaway":
        line = confinement_line(given, abilities)
        return ConfinementRequest(**given.model_dump(), line=line, held=abilities.hold(given))
    shown = given
    if given.confined:
        network = needed.network if abilities.network else "none"
        if network == "loopback" and not abilities.loopback:
            network = "all"
        shown = given.with_more(needed.model_copy(update={"network": network}))
    return ConfinementRequest(
        **shown.model_dump(),
        line=confinement_line(shown, abilities, given=given),
        asks_network=shown.network != given.network,
        held=abilities.hold(shown),
        offers=tuple(_offers(shown, given, abilities)),
    )


def given_confinement(confinement: Confinement, abilities: Abilities) -> GivenConfinement:
    """The rights of a command that starts in this confinement."""
    return GivenConfinement(**confinement.model_dump(), line=confinement_line(confinement, abilities))


def confinement_line(
    confinement: Confinement, abilities: Abilities, *, given: Confinement | None = None
) -> str:
    """The rights of a command in one line, which begins with those that it has beyond `given`."""
    if not confinement.confined:
        return _UNCONFINED
    if not abilities.any:
        return _NO_MEANS
    more = [] if given is None else _more(confinement, given)
    asks = f"It asks for {_listed(more)}. " if more else ""
    folders = [*_git(confinement), *confinement.writes, *abilities.writable]
    places = _listed(["the workspace", *folders])
    held = [f"writes only in {places}"] if abilities.files else []
    if confinement.workspace == "throwaway":
        held = ["what it changes in the workspace is thrown away"]
    held += [f"reads {_listed([*confinement.reads])}"] if confinement.reads else []
    held += [_REACHES[_given(confinement.network, abilities)]] if abilities.network else []
    held += [] if held else ["what it starts ends with it"]
    return " ".join([f"{asks}Confined: {', '.join(held)}.", *abilities.missing])


def _more(shown: Confinement, given: Confinement) -> list[str]:
    """The rights of `shown` that `given` lacks, for people."""
    network = ["the network"] if shown.network != given.network else []
    git = _git(shown) if shown.git != given.git else []
    places = {*given.writes, *given.reads}
    return [*network, *git, *(each for each in (*shown.writes, *shown.reads) if each not in places)]


def _git(confinement: Confinement) -> list[str]:
    if confinement.git is None:
        return []
    return ["git's folder" if confinement.git == ".git" else f"git's folder {confinement.git}"]


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
    """The limits of every command of a plan, for models. `network` is what the settings give."""
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
    if not shown.confined or not abilities.any:
        return
    found = [given] if shown != given else []
    networks = [each for each in NETWORKS if abilities.network and each == _given(each, abilities)]
    found += [shown.model_copy(update={"network": network}) for network in networks]
    for confinement in dict.fromkeys(found):
        if confinement != shown:
            yield _offer(confinement, _label(confinement, shown), abilities)
    yield _offer(Confinement(confined=False), "without confinement", abilities)


def _label(offered: Confinement, shown: Confinement) -> str:
    """The difference between an offer and the rights that are shown."""
    label = _LABELS[offered.network] if offered.network != shown.network else ""
    left_out = [each for each in _more(shown, offered) if each != "the network"]
    if not left_out:
        return label
    return f"{label}, without {_listed(left_out)}" if label else f"without {_listed(left_out)}"


def _offer(confinement: Confinement, label: str, abilities: Abilities) -> ConfinementOffer:
    line = confinement_line(confinement, abilities)
    return ConfinementOffer(**confinement.model_dump(), label=label, line=line)


def _listed(names: list[str]) -> str:
    """The names as a text, with "and" before the last."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
