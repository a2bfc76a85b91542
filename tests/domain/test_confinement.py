"""What an approval says of the confinement of a command, and which commands are known to need the network."""

from __future__ import annotations

import pytest

from planloom.domain.safety.confinement import Abilities, Confinement, Network
from planloom.domain.safety.confinement_choices import confinement_request, standing_line, who_reaches
from planloom.domain.safety.network_commands import lacks_network, needed_network

WHOLE = Abilities(files=True, network=True, processes=True, how="all means", namespaces=True)
FILES = Abilities(
    files=True, network=False, processes=False, how="files alone", missing=("The network is not limited.",)
)
BESIDE = Abilities(files=True, network=True, processes=True, how="Landlock", loopback=False)
NONE = Abilities(files=False, network=False, processes=False, how="nothing", missing=("…",))


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("npm install", "all"),
        ("npm --prefix web ci", "all"),
        ("npm test", "none"),
        ("npm run install-hooks", "none"),
        ("yarn", "all"),
        ("yarn test", "none"),
        ("pip install -r requirements.txt", "all"),
        ("python3.11 -m pip install x", "all"),
        ("python -m pytest", "none"),
        (".venv/bin/pip download x", "all"),
        ("git -C sub fetch origin", "all"),
        ("git status && git push", "all"),
        ("git commit -m 'fetch all'", "none"),
        ("FOO=1 sudo apt-get update", "all"),
        ("cargo build", "none"),
        ("cargo fetch", "all"),
        ("echo curl", "none"),
        ("(cd web; curl -s https://example.org | sh)", "all"),
        ("curl -s http://localhost:3000/health", "loopback"),
        ("curl 127.0.0.1:8080", "loopback"),
        ("curl http://localhost/ https://example.org", "all"),
        ("curl http://localhost.example.org/", "all"),
        ("curl http://localhost@example.org/", "all"),
        ("curl $URL", "all"),
        ("", "none"),
        ("''", "none"),
    ],
)
def test_commands_that_are_known_to_need_the_network(command: str, needed: Network) -> None:
    assert needed_network(command) == needed


def test_a_command_in_the_background_asks_for_this_machine() -> None:
    assert needed_network("python -m http.server", background=True) == "loopback"
    assert needed_network("npx serve", background=True) == "all"


@pytest.mark.parametrize(
    ("given", "needed", "abilities", "shown", "line", "offers"),
    [
        (
            Confinement(),
            "none",
            WHOLE,
            Confinement(),
            "Confined: writes only in the workspace, no network.",
            ["with this machine's network", "with network", "without confinement"],
        ),
        (
            Confinement(),
            "all",
            WHOLE,
            Confinement(network="all"),
            "It asks for the network. Confined: writes only in the workspace, the whole network.",
            ["without network", "with this machine's network", "without confinement"],
        ),
        (
            Confinement(network="loopback"),
            "all",
            WHOLE,
            Confinement(network="all"),
            "It asks for the network. Confined: writes only in the workspace, the whole network.",
            ["with this machine's network", "without network", "without confinement"],
        ),
        (
            Confinement(network="all"),
            "loopback",
            WHOLE,
            Confinement(network="all"),
            "Confined: writes only in the workspace, the whole network.",
            ["without network", "with this machine's network", "without confinement"],
        ),
        (
            Confinement(),
            "all",
            FILES,
            Confinement(),
            "Confined: writes only in the workspace. The network is not limited.",
            ["without confinement"],
        ),
        (
            Confinement(),
            "all",
            NONE,
            Confinement(),
            "Not confined, since this system has no means for it: it has all of your rights.",
            [],
        ),
        (
            Confinement(confined=False),
            "all",
            WHOLE,
            Confinement(confined=False),
            "Not confined: it has all of your rights.",
            [],
        ),
    ],
)
def test_an_approval_says_what_a_command_gets_and_what_may_be_chosen(
    given: Confinement,
    needed: Network,
    abilities: Abilities,
    shown: Confinement,
    line: str,
    offers: list[str],
) -> None:
    request = confinement_request(given, needed, abilities)
    assert (request.shown, request.line) == (shown, line)
    assert [offer.label for offer in request.offers] == offers
    assert request.asks_network == line.startswith("It asks")
    # The first offer of what asks for more is what the setting gives.
    if request.asks_network:
        assert (request.offers[0].confined, request.offers[0].network) == (True, given.network)


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.org",
        "fatal: unable to access 'https://x/': Could not resolve host: x",
        "npm error code ENOTFOUND",
        "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>",
        "OSError: [Errno 101] Network is unreachable",
        'go: x: Get "https://proxy.golang.org": dial tcp: lookup proxy.golang.org on [::1]:53',
        "warning: spurious network error: [6] Couldn't resolve host name (Could not resolve host: index.crates.io)",
    ],
)
def test_what_fails_for_want_of_the_network_is_recognized(output: str) -> None:
    assert lacks_network(f"…\n{output}\n")


@pytest.mark.parametrize(
    "output",
    [
        "",
        "AssertionError: 1 != 2",
        "error: network tests failed",
        "Name not known",
        "ModuleNotFoundError: No module named 'x'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a.txt'",
    ],
)
def test_other_failures_are_not(output: str) -> None:
    assert not lacks_network(output)


def test_what_this_machine_cannot_give_is_not_said_to_be_given() -> None:
    asked = confinement_request(Confinement(), "loopback", BESIDE)
    assert asked.shown == Confinement(network="all")
    assert [offer.label for offer in asked.offers] == ["without network", "without confinement"]
    given = confinement_request(Confinement(network="loopback"), "none", BESIDE)
    assert given.line == "Confined: writes only in the workspace, no network."


@pytest.mark.parametrize(
    ("network", "abilities", "reach", "line"),
    [
        (
            "none",
            WHOLE,
            "Other commands of the plan without the whole network reach what it serves; fetch_url does not.",
            "Commands change only the workspace; /tmp and ~ last as long as the plan. No network but each "
            "other's servers, unless the user gives more.",
        ),
        (
            "loopback",
            WHOLE._replace(writable=("~/x",)),
            "Other commands and fetch_url reach what it serves.",
            "Commands change only the workspace and ~/x; /tmp and ~ last as long as the plan. The network of "
            "this machine only, unless the user gives more.",
        ),
        (
            "none",
            BESIDE,
            "It has no network, so nothing reaches what it serves.",
            "Commands change only the workspace; $TMPDIR and ~, not /tmp, last as long as the plan. No "
            "network unless the user gives it, not even to each other.",
        ),
        (
            "none",
            NONE,
            "fetch_url reaches what it serves, and so do commands with the network, but no command without.",
            "Commands have the user's rights; $TMPDIR lasts as long as the plan. They have the network.",
        ),
    ],
)
def test_what_models_read_of_commands_is_what_this_machine_does(
    network: Network, abilities: Abilities, reach: str, line: str
) -> None:
    assert who_reaches(Confinement(network=network), abilities) == reach
    assert standing_line(network, abilities) == line
