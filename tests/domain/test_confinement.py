"""What an approval says of the confinement of a command, and which commands are known to need the network."""

from __future__ import annotations

import pytest

from planloom.domain.safety.command_needs import Lack, lack_of, needs_of
from planloom.domain.safety.confinement import Abilities, Confinement, Network
from planloom.domain.safety.confinement_choices import confinement_request

WHOLE = Abilities(files=True, network=True, processes=True, how="all means")
FILES = Abilities(
    files=True, network=False, processes=False, how="files alone", missing=("The network is not limited.",)
)
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
    assert needs_of(command).network == needed


def test_a_command_in_the_background_asks_for_this_machine() -> None:
    assert needs_of("python -m http.server", background=True).network == "loopback"
    assert needs_of("npx serve", background=True).network == "all"


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
    request = confinement_request(given, Confinement(network=needed), abilities)
    assert (request.chosen, request.line) == (shown, line)
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
    assert lack_of(f"…\n{output}\n", "npm test") == Lack(kind="network")


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
    assert lack_of(output, "npm test") is None
