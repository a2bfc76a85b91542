"""The report of `planloom doctor` has what a maintainer needs, and nothing that is secret or says who the user is."""

from __future__ import annotations

import getpass
import json
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import pytest

from planloom.cli.setup.anonymous import Anonymous, secrets_of
from planloom.cli.setup.doctor import Finding
from planloom.cli.setup.report import report
from planloom.domain.safety.known_keys import KnownKeys
from planloom.providers import KEY_VARIABLES, OWN_PROXY, OWN_VARIABLE, TRACES_HEADERS
from planloom.settings import resolve
from tests.support import command_line

VARIABLES = {
    **{name: f"plain{number}-words-as-a-key" for number, name in enumerate(KEY_VARIABLES)},
    OWN_VARIABLE: "own-correct-horse-battery",
    TRACES_HEADERS: "authorization=Bearer traces-staple-word",
    "GITHUB_TOKEN": "github-lemon-tree-word",
    "DB_PASSWORD": "database-apple-word",
    OWN_PROXY: "http://proxyname:proxy-orange-word@proxy.corp.example:3128",
    "HTTPS_PROXY": "http://tunnelname:tunnel-pear-word@tunnel.corp.example:3128",
}
KEPT = "kept-banana-word"
MCP_SERVERS = [
    "git (reads): TOKEN=literal-date-word B=$GITHUB_TOKEN git-server --pass flag-peach-word --key=long-nut-word",
    "db: db-server postgres://databasename:db-berry-word@db.corp.example/base",
    "web: https://mcp.corp.example/mcp-path-word X-Custom='Bearer header-quince-word' X-Two='two-raisin-word'",
]
SETTINGS = {
    "planloom.model.baseUrl": "https://basename:base-cherry-word@gateway.corp.example/path-plum-word/v1?k=query-fig-word",
    "planloom.model.name": "qwen3",
    "planloom.storage.traces": "https://tracename:trace-kiwi-word@traces.corp.example/v1?token=trace-lime-word",
    "planloom.planning.systemPrompt": "Call me Prompt Mango.",
    "planloom.commands.writable": ["/data/writable-melon"],
    "planloom.context.exclude": ["exclude-grape/**"],
    "planloom.language.servers": [".py: /opt/server-olive --stdio"],
    "planloom.execution.maxParallelSteps": 2,
    "planloom.mcp.servers": MCP_SERVERS,
}
WORDS = re.compile(r"(?:\w+-)+word(?:s-as-a-key)?|own-correct-horse-battery|\w+name(?=:)")
SECRETS = sorted({*WORDS.findall(json.dumps([VARIABLES, SETTINGS])), KEPT})
ELSEWHERE = {
    "sk-abcdefghijklmnopqrstuvwxyz": "refused sk-abcdefghijklmnopqrstuvwxyz",
    "seen-once-value": "sent Authorization: Bearer seen-once-value",
    "seen-twice-value": 'answered {"api_key": "seen-twice-value", "n": 1}',
    "A1b2C3d4E5f6G7h8J9": "got A1b2C3d4E5f6G7h8J9",
    "anna@corp.example": "mail of anna@corp.example",
    "secret_plan": "cannot read /srv/work/secret_plan.py",
    "Takeover": "cannot read '/srv/our work/Takeover 2027.docx'",
    "merger": "merger.xlsx is too large, and so is docs/merger",
    "takeover.py": "takeover.py cannot be read",
    "MIIEowIBAAKCAQEA": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "letters-without-end": f"begins {'x' * 1990}letters-without-end{'x' * 100_000}",
    "printer7": "no route to http://printer7:9100/jobs",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which everything that can hold a secret holds one, and a log with all of them."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "keys.json").write_text(
        json.dumps({"keys": [{"provider": "openai", "origin": "https://api.openai.com", "value": KEPT}]})
    )
    spelled = [
        spelling
        for each in SECRETS
        for spelling in (each, quote(each, safe=""), f"https://x:{each}@host/{each}")
    ]
    who = [
        getpass.getuser(),
        platform.node(),
        str(Path.home() / "notes"),
        str(tmp_path / "project"),
        "project",
    ]
    lines = [f"2026-01-01 10:00:00,000 42 ERROR planloom.service.models: it said {each}" for each in spelled]
    lines += [
        f"2026-01-01 10:00:00,000 42 WARNING planloom.x: {each}" for each in (*ELSEWHERE.values(), *who)
    ]
    (tmp_path / "planloom.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "project").mkdir()
    return tmp_path


def assert_nothing_private(text: str, folder: Path, besides: Sequence[str] = ()) -> None:
    private = [
        *SECRETS,
        *ELSEWHERE,
        "Mango",
        "melon",
        "grape",
        "olive",
        platform.node(),
        str(Path.home()),
        str(folder),
        "corp.example",
        "sk-",
    ]
    assert [each for each in private if each in text and each not in besides] == []
    assert not re.search(rf"\b{getpass.getuser()}\b", text)


@pytest.mark.parametrize("shown", ["all at once", "one by one"])
def test_no_secret_of_the_machine_is_in_the_report(
    machine: Path, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    assert len(SECRETS) > 25
    log = machine / "planloom.log"
    entries = re.split(r"\n(?=2026)", log.read_text())
    # A report has the last entries only: every one of them has its turn.
    turns = (
        [entries] if shown == "all at once" else [entries[at : at + 20] for at in range(0, len(entries), 20)]
    )
    for turn in turns:
        log.write_text("\n".join(turn))
        findings = [
            Finding("optional", "model", f"no answer: {turn[-1]}", "\n".join(SECRETS)),
            Finding("optional", "workspace", str(machine / "project")),
        ]
        made = report(findings, [machine / "project"], [], log)
        assert_nothing_private(made, machine)
        assert made.count(" ERROR ") + made.count(" WARNING ") == min(len(turn), 20) + 1


def test_what_a_maintainer_needs_is_in_it(machine: Path) -> None:
    log = machine / "planloom.log"
    log.write_text(
        "2026-01-01 10:00:00,000 42 INFO planloom.a: all is well\n"
        "2026-01-01 10:00:01,000 42 ERROR planloom.lsp.routing: Answering planloom/plan/create failed unexpectedly\n"
        "Traceback (most recent call last):\n"
        '  File "/home/anna/venv/lib/python3.11/site-packages/planloom/service/models.py", line 7, in choose\n'
        "ValueError: model.baseUrl is odd\n"
        "2026-01-01 10:00:02,000 42 INFO planloom.a: all is well again\n"
    )
    findings = [
        Finding("missing", "model", "claude-sonnet-4-5-20250929 and qwen3:8b at http://localhost:8080/v1")
    ]
    made = report(findings, [], [("execution.review", "end")], log)
    for needed in (
        "Planloom 0.",
        "Python 3.",
        "pydantic ",
        "model.baseUrl: https://(host)  (user)",
        'model.name: "qwen3"  (user)',
        "execution.maxParallelSteps: 2  (user)",
        'execution.review: "end"  (command_line)',
        "mcp.servers: a list of 3  (user)",
        "OPENAI_API_KEY",
        "missing   model: claude-sonnet-4-5-20250929 and qwen3:8b at http://localhost:8080",
        "planloom.lsp.routing: Answering",
        'File "lib/python3.11/site-packages/planloom/service/models.py", line 7, in choose',
        "ValueError: model.baseUrl is odd",
    ):
        assert needed in made
    assert "all is well" not in made


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Planloom 0.1.0 on Python 3.11.7", "Planloom 0.1.0 on Python 3.11.7"),
        (r"/home/anna/planloom/takeover/x.py is gone", "[file] is gone"),
        (r"C:\Users\anna\x.txt is gone", "[file] is gone"),
        ("https://api.openai.com/v1/chat?x=1 failed", "https://api.openai.com failed"),
        ("ftp://u:p@files.example/x", "ftp://(host)"),
        ("Anna ran it, Annabel too", "[user] ran it, Annabel too"),
        ("set model.contextTokens in settings.json", "set model.contextTokens in settings.json"),
    ],
)
def test_a_text_keeps_what_says_nothing_about_the_user(text: str, left: str) -> None:
    assert Anonymous(KnownKeys(), {"anna": "[user]"}).cleaned(text) == left


def test_the_planted_settings_are_settings() -> None:
    names = {each.removeprefix("planloom.") for each in SETTINGS}
    problems = {problem.field for problem in resolve({"user": SETTINGS}).problems}
    assert problems <= {"model.baseUrl"} and len(names) == len(SETTINGS)
    settings = resolve({"user": SETTINGS}).settings
    masked = secrets_of(VARIABLES, [], settings).masked(" ".join(settings.mcp.servers))
    assert "git-server" in masked and "-word" not in masked


@pytest.mark.process
def test_the_command_writes_it_and_never_over_a_file(machine: Path) -> None:
    arguments = ["doctor", "--report", "--workspace", str(machine / "project")]
    variables = VARIABLES | {
        "PLANLOOM_CONFIG": str(machine / "settings.json"),
        "XDG_STATE_HOME": str(machine / "state"),
        "OLLAMA_HOST": "127.0.0.1:9",
        # What is asked must not leave this machine.
        OWN_PROXY: "http://proxyname:proxy-orange-word@127.0.0.1:9",
        "HTTPS_PROXY": "http://tunnelname:tunnel-pear-word@127.0.0.1:9",
    }
    # One server that is reached by name would be looked for.
    settings = SETTINGS | {"planloom.mcp.servers": MCP_SERVERS[:2]}
    (machine / "settings.json").write_text(json.dumps(settings))
    (machine / "state/planloom").mkdir(parents=True)
    (machine / "planloom.log").rename(machine / "state/planloom/planloom.log")
    ended = command_line.run(machine, arguments, **variables)
    assert "The report is in planloom-report.txt." in " ".join(ended.out.split())
    made = (machine / "planloom-report.txt").read_text()
    only_of_the_third = re.findall(r"\w+-\w+(?:-\w+)?-word", MCP_SERVERS[2])
    assert_nothing_private(made, machine, besides=only_of_the_third)
    assert "Findings" in made and "server: 0." in made
    again = command_line.run(machine, arguments, **variables)
    assert again.code == 2 and "exists already" in again.err
    assert (machine / "planloom-report.txt").read_text() == made
