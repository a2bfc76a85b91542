"""What an approval says of the confinement of a command, and which commands are known to need the network."""

from __future__ import annotations

import pytest

from planloom.domain.safety.command_needs import Lack, lack_of, needs_of
from planloom.domain.safety.confinement import Abilities, Confinement, Network
from planloom.domain.safety.confinement_choices import confinement_request, standing_line, who_reaches

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
        ("gh --version", "none"),
        ("npx prettier --version", "all"),
        ("pre-commit autoupdate", "all"),
        ("pre-commit run -a", "none"),
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
        ('git commit -m "docs (curl example)"', "none"),
        ('git commit -m "fix; npm install"', "none"),
        ("node -e 'require(\"http\")'", "none"),
        ('echo "a | wget b"', "none"),
        ('python3 -c "f(ssh)"', "none"),
        ('grep -rn "(http" src', "none"),
        ("sh -c 'cd web && npm ci'", "all"),
        ("timeout 9 env A=1 curl https://example.org", "all"),
        ("echo $(curl https://example.org)", "all"),
        ("pipenv install", "all"),
        ("docker compose up", "all"),
        ("docker ps", "none"),
        ("./gradlew test", "all"),
        ("gradle --offline test", "none"),
        ("mvn -q test", "all"),
        ("dotnet test --no-restore", "none"),
        ("kubectl get pods", "all"),
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


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("git add -A && git commit -m x", True),
        ("git -C sub -c user.name=a commit", True),
        ("echo hi; git stash pop", True),
        ("git branch new", True),
        ("git branch --list 'x*'", False),
        ("git branch", False),
        ("git stash list", False),
        ("git status --short | head", False),
        ("git config user.name a", False),
        ("git remote -v", False),
        ("echo 'git commit'", False),
        ("git log --grep commit", False),
        ("pre-commit run", True),
        ("pre-commit", True),
        ("pre-commit run black --all-files", False),
        ("pre-commit --version", False),
    ],
)
def test_commands_that_change_gits_folder(command: str, changes: bool) -> None:
    assert needs_of(command).git == changes


@pytest.mark.parametrize(
    ("command", "output", "lack"),
    [
        (
            "sh x",
            "fatal: Unable to create '/w/.git/index.lock': Read-only file system",
            Lack(kind="git", place="/w/"),
        ),
        (
            "git remote add a b",
            "error: could not lock config file .git/config: Read-only file system",
            Lack(kind="protected"),
        ),
        (
            "git config a.b c",
            "error: could not write config file .git/config: Device or resource busy",
            Lack(kind="protected"),
        ),
        (
            "touch ~/x/y",
            "touch: cannot touch '/home/u/x/y': Read-only file system",
            Lack(kind="folder", place="/home/u/x"),
        ),
        (
            "node a.js",
            "Error: EROFS: read-only file system, open '/opt/a'",
            Lack(kind="folder", place="/opt"),
        ),
        (
            "python a.py",
            "OSError: [Errno 30] Read-only file system: '/opt/a'",
            Lack(kind="folder", place="/opt"),
        ),
        (
            "go install .",
            "go install x: copying /tmp/b/a.out: open /home/u/go/bin/x: read-only file system",
            Lack(kind="folder", place="/home/u/go/bin"),
        ),
        (
            "docker ps",
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            Lack(kind="socket", place="/var/run/docker.sock"),
        ),
        (
            "docker ps",
            "permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock: Get",
            Lack(kind="socket", place="/run/docker.sock"),
        ),
        (
            "docker ps",
            "dial unix /var/run/docker.sock: connect: no such file or directory",
            Lack(kind="socket", place="/var/run/docker.sock"),
        ),
        ("ssh-add -l", "Could not open a connection to your authentication agent.", Lack(kind="socket")),
        ("gh pr list", "please run:  gh auth login", Lack(kind="credentials", place="gh")),
        ("aws s3 ls", "Unable to locate credentials.", Lack(kind="credentials", place="aws")),
        (
            "kubectl get pods",
            "The connection to the server localhost:8080 was refused - did you specify the right host?",
            Lack(kind="credentials", place="kubectl"),
        ),
        (
            "git fetch",
            "git@example.org: Permission denied (publickey).",
            Lack(kind="credentials", place="git"),
        ),
        ("cat log", "Unable to locate credentials.", None),
    ],
)
def test_what_a_failed_command_has_lacked(command: str, output: str, lack: Lack | None) -> None:
    assert lack_of(output, command) == lack


def test_an_approval_asks_for_all_that_is_needed_and_offers_less() -> None:
    needed = Confinement(network="all", git=".git", reads=("~/.ssh",))
    request = confinement_request(Confinement(), needed, WHOLE)
    assert request.chosen == needed
    assert request.line == (
        "It asks for the network, git's folder and ~/.ssh. Confined: writes only in the workspace and git's folder, "
        "reads ~/.ssh, the whole network."
    )
    assert [(offer.label, offer.chosen.git) for offer in request.offers] == [
        ("without network, without git's folder and ~/.ssh", None),
        ("without network", ".git"),
        ("with this machine's network", ".git"),
        ("without confinement", None),
    ]


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
        "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com",
        'Could not connect to the endpoint URL: "https://s3.amazonaws.com/"',
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


def test_what_this_machine_cannot_give_is_not_said_to_be_given() -> None:
    asked = confinement_request(Confinement(), Confinement(network="loopback"), BESIDE)
    assert asked.chosen == Confinement(network="all")
    assert [offer.label for offer in asked.offers] == ["without network", "without confinement"]
    given = confinement_request(Confinement(network="loopback"), Confinement(), BESIDE)
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
