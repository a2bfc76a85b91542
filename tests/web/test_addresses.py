"""Web addresses: parsed as they are used, and judged by where they lead, in every odd form."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.web.addresses import AddressRefused, WebAddress, joined, reach_of, reach_of_host, web_address

USED_AS = {
    "https://docs.python.org/3/library/re.html#re.sub": "https://docs.python.org/3/library/re.html",
    "HTTPS://Docs.Python.ORG": "https://docs.python.org/",
    "https://docs.python.org.:443/a?b=c&d": "https://docs.python.org/a?b=c&d",
    "http://example.org:8080/": "http://example.org:8080/",
    "https://example.org/ä b".replace(" ", "%20"): "https://example.org/%C3%A4%20b",
    "https://example.org/a\u202eb\u200b": "https://example.org/a%E2%80%AEb%E2%80%8B",
    "https://münchen.de/x": "https://xn--mnchen-3ya.de/x",
    "https://аpple.com/": "https://xn--pple-43d.com/",
    "http://[2606:4700::6810:84E5]:81/": "http://[2606:4700::6810:84e5]:81/",
    "http://１２７.０.０.１/": "http://127.0.0.1/",
    "http://localhost./": "http://localhost/",
}


@pytest.mark.parametrize("written", USED_AS)
def test_an_address_is_shown_as_it_is_used(written: str) -> None:
    address = web_address(written)
    assert isinstance(address, WebAddress)
    assert address.url == USED_AS[written] and address.url.isascii()


def test_a_host_in_other_letters_is_shown_beside_its_ascii_form() -> None:
    shown = {
        text: getattr(web_address(f"https://{text}/"), "unicode_host", "refused")
        for text in ("аpple.com", "xn--pple-43d.com", "example.org", "１２７.０.０.１")
    }
    assert shown == {
        "аpple.com": "аpple.com",
        "xn--pple-43d.com": "аpple.com",
        "example.org": None,
        "１２７.０.０.１": None,
    }


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("ftp://example.org/", "must begin"),
        ("file:///etc/passwd", "must begin"),
        ("javascript:alert(1)", "must begin"),
        ("//example.org/", "must begin"),
        ("https:example.org", "must begin"),
        ("https:///example.org", "must begin"),
        ("example.org", "must begin"),
        ("", "must begin"),
        ("https://user@example.org/", "user name"),
        ("https://good.example@127.0.0.1/", "user name"),
        ("https://user:secret@example.org/", "user name"),
        ("https://good.example\\@evil.example/", "backslash"),
        ("https://example.org/a b", "space"),
        ("https://exa\tmple.org/", "control"),
        ("https://exa\nmple.org/", "control"),
        ("https://example.org:0/", "port"),
        ("https://example.org:99999/", "no valid address"),
        ("https://example.org:8o/", "no valid address"),
        ("http://2130706433/", "number"),
        ("http://127.1/", "number"),
        ("http://0177.0.0.1/", "number"),
        ("http://0x7f.0.0.1/", "number"),
        ("http://0x7f000001/", "number"),
        ("http://127.0.0.1.1/", "number"),
        ("http://127.0.0.0x1/", "number"),
        ("http://[fe80::1%25eth0]/", "zone"),
        ("http://[::1/", "no valid address"),
        ("http://exa%6dple.org/", "valid name"),
        ("http://example..org/", "valid name"),
        ("http://-x.org/", "valid name"),
        ("http://a＠b.example/", ""),
        ("https://example.org/" + "a" * 2_000, "longer"),
        ("https://example.org/" + "ä" * 1_000, "longer"),
        ("https://example.org/\udc80", "no valid text"),
    ],
)
def test_what_parsers_could_read_differently_is_refused(written: str, part: str) -> None:
    address = web_address(written)
    assert isinstance(address, AddressRefused)
    assert part in address.reason


REACH = {
    "public": "93.184.216.34 1.1.1.1 2606:4700::1111 64:ff9b::101:101 ::ffff:1.1.1.1 172.32.0.1 100.128.0.1 11.0.0.1",
    "internal": (
        "127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 198.18.0.1"
        " 192.0.2.1 203.0.113.9 ::1 :: fc00::1 fd12::1 fec0::1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::10.0.0.1"
        " 64:ff9b::a00:1 64:ff9b:1::1 2002:7f00:1:: 2001:db8::1 2001::1 100::1"
    ),
    "forbidden": (
        "169.254.169.254 169.254.0.1 224.0.0.1 239.1.1.1 255.255.255.255 240.0.0.1 168.63.129.16 100.100.100.200"
        " fe80::1 ff02::1 fd00:ec2::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"
        " 64:ff9b:1::a9fe:a9fe ::169.254.169.254 ::ffff:0:a9fe:a9fe fd20:ce::254"
    ),
}


@pytest.mark.parametrize(
    ("address", "reach"), [(each, reach) for reach in REACH for each in REACH[reach].split()]
)
def test_an_address_is_judged_by_where_it_leads(address: str, reach: str) -> None:
    assert reach_of(ipaddress.ip_address(address)) == reach


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http://localhost./", "internal"),
        ("http://LOCALHOST/", "internal"),
        ("http://a.localhost/", "internal"),
        ("http://[::ffff:10.0.0.1]/", "internal"),
        ("http://[::ffff:7f00:1]/", "internal"),
        ("http://[0:0:0:0:0:0:0:1]/", "internal"),
        ("http://①②⑦.⓪.⓪.①/", "internal"),
        ("http://127。0。0。1/", "internal"),
        ("http://metadata.google.internal./", "forbidden"),
        ("http://169.254.169.254/latest/meta-data/", "forbidden"),
        ("http://1.1.1.1/", "public"),
        ("https://docs.python.org/", None),
        ("https://127.0.0.1.nip.io/", None),
    ],
)
def test_a_written_host_is_judged_before_it_is_resolved(url: str, reach: str | None) -> None:
    address = web_address(url)
    assert isinstance(address, WebAddress)
    assert reach_of_host(address.host) == reach


def test_a_redirect_is_read_as_an_address_of_its_own() -> None:
    base = web_address("https://example.org/a/b?c")
    assert isinstance(base, WebAddress)
    read = {
        text: getattr(joined(base, text), "url", "refused")
        for text in ("../d", "//evil.example/x", "/e#f", "http://u@h/", "file:///etc/passwd", "http://[")
    }
    assert read == {
        "../d": "https://example.org/d",
        "//evil.example/x": "https://evil.example/x",
        "/e#f": "https://example.org/e",
        "http://u@h/": "refused",
        "file:///etc/passwd": "refused",
        "http://[": "refused",
    }


@given(st.text(max_size=40))
def test_no_text_raises_and_what_is_used_reads_the_same_again(text: str) -> None:
    for written in (text, f"http://{text}", f"https://example.org/{text}"):
        address = web_address(written)
        if isinstance(address, WebAddress):
            again = web_address(address.url)
            assert isinstance(again, WebAddress)
            assert (again.url, again.host, again.port) == (address.url, address.host, address.port)
            assert address.url.isascii() and address.url.isprintable()
