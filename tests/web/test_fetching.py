"""Fetching a page from servers on loopback that decide every byte, and from names that resolve to anything."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from planloom.web.addresses import WebAddress, web_address
from planloom.web.fetching import MOST_BYTES, fetch
from planloom.web.pages import Fetched, NotFetched, Page, Picture, Redirected
from planloom.web.transfer import trusted_certificates
from tests.support.http_server import Answer, Asked, Wire, serving

CERTIFICATE = Path(__file__).parents[1] / "data/web/docs_example.pem"
"""A key and a certificate for docs.example that it has signed itself."""
PNG = b"\x89PNG\r\n\x1a\n and more"
GZIPPED_BOMB = gzip.compress(b"<p>" + b"a" * 40_000_000)


class Resolver:
    """Answers each question with the next of these addresses, and the last one again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not found:
            raise OSError("no such name")
        return found


def address_of(url: str) -> WebAddress:
    address = web_address(url)
    assert isinstance(address, WebAddress), address
    return address


async def got(answer: Answer, path: str = "/", *, seconds: float = 30.0) -> Fetched:
    """What comes of fetching a path of a server on loopback."""
    async with serving(answer) as server:
        return await fetch(address_of(server.origin + path), allow_internal=True, seconds=seconds)


def replies(body: bytes, status: int = 200, **headers: str) -> Answer:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.reply(status, body, **headers)

    return answer


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"hello", "text/plain", "hello"),
        ("grüße".encode("cp1252"), "text/plain; charset=ISO-8859-1", "grüße"),
        ("grüße".encode("cp1252"), "text/plain", "grüße"),
        ("grüße".encode(), "", "grüße"),
        ("grüße".encode("utf-16"), "text/plain", "grüße"),
        ("<meta charset='cp1251'><p>привет".encode("cp1251"), "text/html", "привет"),
        (
            b'<?xml version="1.0" encoding="latin1"?><a>\xe4</a>',
            "application/xml",
            '<?xml version="1.0" encoding="latin1"?><a>ä</a>',
        ),
        (b'{"a": 1}', "application/vnd.api+json", '{"a": 1}'),
        (b"# Title", "text/markdown; charset=nonsense", "# Title"),
        (b"a", "text/plain; charset=zip", "a"),
        (b"<html><p>Hi <b>you</b>", "", "Hi you"),
    ],
)
async def test_text_is_read_by_its_own_character_set(body: bytes, content_type: str, text: str) -> None:
    headers = {"content_type": content_type} if content_type else {}
    page = await got(replies(body, **headers))
    assert isinstance(page, Page), page
    assert page.text == text


async def test_the_request_says_who_asks_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.setenv("NETRC", str(netrc))
    async with serving(replies(b"ok", content_type="text/plain", set_cookie="a=b")) as server:
        for _ in range(2):
            page = await fetch(address_of(f"{server.origin}/a/../b%2f?c=d"), allow_internal=True)
            assert isinstance(page, Page)
    one, two = server.asked
    assert one.path == two.path == "/a/../b%2f?c=d"
    assert one.method == "GET" and one.body == b""
    assert (
        sorted(one.headers)
        == sorted(two.headers)
        == ["accept", "accept-encoding", "connection", "host", "user-agent"]
    )
    assert one.headers["user-agent"].startswith("planloom/")


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ([["127.0.0.1"]], "private network"),
        ([["93.184.216.34", "10.0.0.1"]], "private network"),
        ([["2606:4700::1111", "::1"]], "private network"),
        ([["::ffff:192.168.0.1"]], "private network"),
        ([["169.254.169.254"]], "metadata"),
        ([[]], "cannot be found"),
    ],
)
async def test_a_name_that_leads_inside_is_not_connected_to(answers: list[list[str]], part: str) -> None:
    async with serving(replies(b"inside", content_type="text/plain")) as server:
        port = server.origin.rpartition(":")[2]
        resolver = Resolver(*answers)
        found = await fetch(
            address_of(f"http://public.example:{port}/"), allow_internal=False, resolve=resolver
        )
    assert isinstance(found, NotFetched) and part in found.reason
    assert server.asked == [] and resolver.asked == ["public.example"]


async def test_a_metadata_address_is_never_fetched() -> None:
    resolver = Resolver(["169.254.169.254"])
    for host in ("169.254.169.254", "metadata.google.internal", "[fd00:ec2::254]", "other.example"):
        found = await fetch(address_of(f"http://{host}/"), allow_internal=True, resolve=resolver)
        assert isinstance(found, NotFetched) and "never fetched" in found.reason
    assert resolver.asked == ["other.example"]


async def test_a_name_is_resolved_once_so_that_a_second_answer_changes_nothing() -> None:
    """A rebinding name answers with another address the second time: that one is never connected to."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.path == "/":
            await wire.reply(302, b"", location="/next")
        else:
            await wire.reply(200, b"done", content_type="text/plain")

    async with serving(answer) as server:
        port = server.origin.rpartition(":")[2]
        resolver = Resolver(["127.0.0.1"], ["127.0.0.2"])
        page = await fetch(address_of(f"http://docs.example:{port}/"), allow_internal=True, resolve=resolver)
    assert isinstance(page, Page) and page.text == "done"
    assert resolver.asked == ["docs.example"]
    assert [asked.headers["host"] for asked in server.asked] == [f"docs.example:{port}"] * 2


async def test_a_certificate_is_checked_for_the_name_though_a_number_is_connected_to() -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(CERTIFICATE)

    def trusted() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(CERTIFICATE))

    async with serving(replies(b"ok", content_type="text/plain"), tls=served) as server:
        port = server.origin.rpartition(":")[2]
        found = {}
        for name, certificates in (
            ("docs.example", trusted),
            ("other.example", trusted),
            ("docs.example", trusted_certificates),
        ):
            found[name, certificates] = await fetch(
                address_of(f"https://{name}:{port}/"),
                allow_internal=True,
                resolve=Resolver(["127.0.0.1"]),
                certificates=certificates,
            )
    page, *refused = found.values()
    assert isinstance(page, Page) and page.text == "ok"
    assert [getattr(each, "reason", "") for each in refused] == [
        "The certificate of other.example is not valid or not trusted.",
        "The certificate of docs.example is not valid or not trusted.",
    ]
    assert len(server.asked) == 1


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async with serving(replies(b"here", content_type="text/plain")) as server:
        port = server.origin.rpartition(":")[2]
        resolver = Resolver(["127.0.0.9", "127.0.0.1"])
        page = await fetch(address_of(f"http://docs.example:{port}/"), allow_internal=True, resolve=resolver)
    assert isinstance(page, Page)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://other.example/x#y", Redirected("https://other.example/x")),
        ("//other.example/x", Redirected("//other.example/x")),
        ("http://169.254.169.254/latest", Redirected("http://169.254.169.254/latest")),
        ("http://localhost:1/", Redirected("http://localhost:1/")),
        ("http://user@127.0.0.1/", NotFetched("It redirects to an address that cannot be used")),
        ("file:///etc/passwd", NotFetched("It redirects to an address that cannot be used")),
        ("javascript:x", NotFetched("It redirects to an address that cannot be used")),
        ("mailto:x", NotFetched("It redirects to an address that cannot be used")),
        ("http://[", NotFetched("It redirects to an address that cannot be used")),
        ("/again", NotFetched("It redirects more than 5 times.")),
    ],
)
async def test_a_redirect_is_followed_to_the_same_host_alone(location: str, expected: Fetched) -> None:
    async with serving(replies(b"", 301, location=location)) as server:
        found = await fetch(address_of(f"{server.origin}/"), allow_internal=True)
    if isinstance(found, NotFetched) and isinstance(expected, NotFetched):
        assert found.reason.startswith(expected.reason)
        assert len(server.asked) == (6 if location == "/again" else 1)
    else:
        assert isinstance(found, Redirected) and isinstance(expected, Redirected)
        assert found.location.endswith(expected.location)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "headers", "part"),
    [
        (b"\0\0\0\x1cftypavif", {"content_type": "image/avif"}, "image/avif of 12 bytes"),
        (PNG + bytes(30_000_000), {"content_type": "image/png"}, "an image of over 5 MB"),
        (b"\0\1\2", {}, "binary data"),
        (b"x", {"content_type": "application/octet-stream"}, "application/octet-stream"),
        (b"x", {"content_type": "text/plain", "content_encoding": "br"}, "compressed as 'br'"),
        (
            b"no gzip at all",
            {"content_type": "text/plain", "content_encoding": "gzip"},
            "compression is invalid",
        ),
    ],
)
async def test_what_is_no_text_is_named(body: bytes, headers: dict[str, str], part: str) -> None:
    found = await got(replies(body, **headers))
    assert isinstance(found, NotFetched) and part in found.reason


async def test_an_image_is_known_by_its_bytes() -> None:
    for stated in ("image/png", "image/jpeg", "application/octet-stream"):
        found = await got(replies(PNG, content_type=stated))
        assert isinstance(found, Picture) and (found.media_type, found.data) == ("image/png", PNG)
    assert await got(replies(PNG, 404, content_type="image/png")) == NotFetched(
        "The host answered 404 Not Found."
    )


async def test_a_refusal_of_the_host_is_told_with_its_words() -> None:
    found = await got(replies(b"<h1>Gone away</h1>", 404, content_type="text/html"))
    assert found == NotFetched("The host answered 404 Not Found.", "# Gone away")


@pytest.mark.parametrize("zipped", [False, True])
async def test_a_page_without_end_is_cut(zipped: bool) -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        if zipped:
            await wire.reply(200, GZIPPED_BOMB, content_type="text/html", content_encoding="gzip")
            return
        await wire.head(content_type="text/plain")
        while True:
            await wire.send(b"abcdefgh" * 8_192)

    page = await got(answer)
    assert isinstance(page, Page)
    assert page.cut == "only the first 2 MB were fetched" and len(page.text) <= MOST_BYTES


async def test_a_host_that_says_nothing_is_given_up() -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.until_left()

    found = await got(answer, seconds=0.3)
    assert found == NotFetched("It took longer than 0.3 seconds.")


async def test_a_cancelled_fetch_closes_its_connection() -> None:
    arrived = asyncio.Event()

    async def answer(_asked: Asked, wire: Wire) -> None:
        arrived.set()
        await wire.until_left()

    async with serving(answer) as server:
        task = asyncio.create_task(fetch(address_of(server.origin), allow_internal=True))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10):
            await server.all_left()


async def test_nobody_at_the_address_is_a_sentence() -> None:
    async with serving(replies(b"")) as server:
        pass
    found = await fetch(address_of(server.origin), allow_internal=True)
    assert isinstance(found, NotFetched) and found.reason.startswith("Nothing answers at http://127.0.0.1:")
    spoken = await fetch(address_of("https" + server.origin[4:]), allow_internal=True)
    assert isinstance(spoken, NotFetched)
